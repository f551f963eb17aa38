//! Trees of Python containers: specs, flatten and unflatten, key paths, the JSON protocol.
