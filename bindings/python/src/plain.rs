//! The library's reports and plans as dictionaries.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;
use serde_json::Value;

/// A value of the library as Python's own: dictionaries, lists, numbers, texts.
pub(crate) fn plain<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let value = serde_json::to_value(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    convert(py, value)
}

fn convert(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(number) => match number.as_u64() {
            Some(count) => count.into_pyobject(py)?.into_any(),
            None => number.as_f64().into_pyobject(py)?.into_any(),
        },
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Array(values) => {
            let values = values.into_iter().map(|value| convert(py, value)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, values)?.into_any()
        }
        Value::Object(members) => {
            let dictionary = PyDict::new(py);
            for (name, value) in members {
                dictionary.set_item(name, convert(py, value)?)?;
            }
            dictionary.into_any()
        }
    })
}
