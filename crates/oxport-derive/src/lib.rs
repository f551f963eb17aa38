//! The derive macros of `oxport-capture`, which exports them with their documentation.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, Index, LitStr, Result, parse_macro_input};

/// Implements `Module`: every field is a part of its name, in order. A field that is none has `#[module(skip)]`, one
/// of another
/// name in the state dict `#[module(name = "…")]`; the struct may say its class, `#[module(class = "…")]`.
#[proc_macro_derive(Module, attributes(module))]
pub fn derive_module(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    module(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Implements `Pytree`: a struct with named fields is a dict of them, one without names a tuple.
#[proc_macro_derive(Pytree)]
pub fn derive_pytree(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    pytree(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// What `#[module(…)]` says.
#[derive(Default)]
struct Said {
    is_skipped: bool,
    name: Option<LitStr>,
    class: Option<LitStr>,
}

fn said(attributes: &[syn::Attribute]) -> Result<Said> {
    let mut said = Said::default();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("module")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("skip") {
                said.is_skipped = true;
            } else if meta.path.is_ident("name") {
                said.name = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("class") {
                said.class = Some(meta.value()?.parse()?);
            } else {
                return Err(meta.error("expected `skip`, `name` or `class`"));
            }
            Ok(())
        })?;
    }
    Ok(said)
}

fn fields(input: &DeriveInput) -> Result<&Fields> {
    match &input.data {
        Data::Struct(data) => Ok(&data.fields),
        _ => Err(Error::new_spanned(&input.ident, "expected a struct")),
    }
}

fn module(input: &DeriveInput) -> Result<TokenStream> {
    let mut parts = Vec::new();
    for (i, field) in fields(input)?.iter().enumerate() {
        let said = said(&field.attrs)?;
        if said.is_skipped {
            continue;
        }
        let (access, own) = match &field.ident {
            Some(ident) => (quote!(#ident), ident.to_string().trim_start_matches("r#").to_string()),
            None => {
                let index = Index::from(i);
                (quote!(#index), i.to_string())
            }
        };
        let name = said.name.map_or(own, |name| name.value());
        parts.push(quote!(::oxport_capture::module::Part::visit_as(&self.#access, #name, visitor);));
    }
    let class = said(&input.attrs)?.class.map(|class| {
        quote! {
            fn class(&self) -> ::std::string::String {
                #class.to_string()
            }
        }
    });
    let ident = &input.ident;
    let (generics, types, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        impl #generics ::oxport_capture::Module for #ident #types #bounds {
            fn visit(&self, visitor: &mut dyn ::oxport_capture::Visitor) {
                #(#parts)*
            }
            #class
        }
    })
}

fn pytree(input: &DeriveInput) -> Result<TokenStream> {
    let ident = &input.ident;
    let (generics, types, bounds) = input.generics.split_for_impl();
    let all = fields(input)?;
    let names: Vec<_> = match all {
        Fields::Named(named) => named.named.iter().filter_map(|f| f.ident.clone()).collect(),
        _ => (0..all.len()).map(|i| format_ident!("field{i}")).collect(),
    };
    let (pattern, tree) = match all {
        Fields::Named(_) => {
            let keys = names.iter().map(|n| n.to_string().trim_start_matches("r#").to_string());
            let tree = quote! {
                ::oxport_capture::pytree::dict([#((#keys, ::oxport_capture::Pytree::tree(#names))),*])
            };
            (quote!({ #(#names),* }), tree)
        }
        Fields::Unnamed(_) => {
            let tree = quote!(::oxport_capture::pytree::tuple([#(::oxport_capture::Pytree::tree(#names)),*]));
            (quote!((#(#names),*)), tree)
        }
        Fields::Unit => (quote!(), quote!(::oxport_capture::pytree::tuple([]))),
    };
    Ok(quote! {
        impl #generics ::oxport_capture::Pytree for #ident #types #bounds {
            fn tree(self) -> ::oxport_capture::pytree::Tree {
                let #ident #pattern = self;
                #tree
            }
        }
    })
}
