//! Owns taking JSON literally: an object is an object, a word is a string.
//!
//! Knows nothing of the wire's types. Derived readers also take a list where an object is meant, and an object where
//! a plain variant is; both would be a second spelling of the same thing.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// A value that is read from an object and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OnlyMap<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for OnlyMap<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(OnlyMap(PhantomData))
    }
}

/// Reads a field that has to be an object.
pub(super) fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Object::deserialize(deserializer).map(|object| object.0)
}

/// Reads a list of objects.
pub(super) fn objects<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let list = Vec::<Object<T>>::deserialize(deserializer)?;
    Ok(list.into_iter().map(|object| object.0).collect())
}

/// Reads a variant without content from its name.
pub(super) fn word<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let text = Cow::<'de, str>::deserialize(deserializer)?;
    T::deserialize(text.as_ref().into_deserializer())
}

/// Reads a list of such variants.
pub(super) fn words<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let list = Vec::<Cow<'de, str>>::deserialize(deserializer)?;
    list.iter().map(|text| T::deserialize(text.as_ref().into_deserializer())).collect()
}
