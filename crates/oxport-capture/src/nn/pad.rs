//! Padding: the ends of the last dimension come first.

use super::stateless;
use crate::Value;

stateless! {
    /// `torch.nn.ReflectionPad1d`
    "padding" ReflectionPad1d(padding: [i64; 2] = [0; 2]) |s, x| x.pad(s.padding, "reflect", Value::None);
    /// `torch.nn.ReflectionPad2d`
    "padding" ReflectionPad2d(padding: [i64; 4] = [0; 4]) |s, x| x.pad(s.padding, "reflect", Value::None);
    /// `torch.nn.ReflectionPad3d`
    "padding" ReflectionPad3d(padding: [i64; 6] = [0; 6]) |s, x| x.pad(s.padding, "reflect", Value::None);
    /// `torch.nn.ReplicationPad1d`
    "padding" ReplicationPad1d(padding: [i64; 2] = [0; 2]) |s, x| x.pad(s.padding, "replicate", Value::None);
    /// `torch.nn.ReplicationPad2d`
    "padding" ReplicationPad2d(padding: [i64; 4] = [0; 4]) |s, x| x.pad(s.padding, "replicate", Value::None);
    /// `torch.nn.ReplicationPad3d`
    "padding" ReplicationPad3d(padding: [i64; 6] = [0; 6]) |s, x| x.pad(s.padding, "replicate", Value::None);
    /// `torch.nn.CircularPad1d`
    "padding" CircularPad1d(padding: [i64; 2] = [0; 2]) |s, x| x.pad(s.padding, "circular", Value::None);
    /// `torch.nn.CircularPad2d`
    "padding" CircularPad2d(padding: [i64; 4] = [0; 4]) |s, x| x.pad(s.padding, "circular", Value::None);
    /// `torch.nn.CircularPad3d`
    "padding" CircularPad3d(padding: [i64; 6] = [0; 6]) |s, x| x.pad(s.padding, "circular", Value::None);
    /// `torch.nn.ConstantPad1d`
    "padding" ConstantPad1d(padding: [i64; 2] = [0; 2], value: f64 = 0.0)
        |s, x| x.pad(s.padding, "constant", s.value);
    /// `torch.nn.ZeroPad1d`
    "padding" ZeroPad1d(padding: [i64; 2] = [0; 2]) |s, x| x.pad(s.padding, "constant", 0.0);
    /// `torch.nn.ConstantPad2d`
    "padding" ConstantPad2d(padding: [i64; 4] = [0; 4], value: f64 = 0.0)
        |s, x| x.pad(s.padding, "constant", s.value);
    /// `torch.nn.ZeroPad2d`
    "padding" ZeroPad2d(padding: [i64; 4] = [0; 4]) |s, x| x.pad(s.padding, "constant", 0.0);
    /// `torch.nn.ConstantPad3d`
    "padding" ConstantPad3d(padding: [i64; 6] = [0; 6], value: f64 = 0.0)
        |s, x| x.pad(s.padding, "constant", s.value);
    /// `torch.nn.ZeroPad3d`
    "padding" ZeroPad3d(padding: [i64; 6] = [0; 6]) |s, x| x.pad(s.padding, "constant", 0.0);
}
