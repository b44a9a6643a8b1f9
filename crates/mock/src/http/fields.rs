//! Fields of a JSON body, with the refusals that vLLM's validation gives.

use plimsoll_wire::encode::ErrorBody;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Longest piece of input that a refusal repeats, characters.
const MAX_ECHO: usize = 200;

/// The fields of a JSON object. `null` is the same as absent.
#[derive(Debug)]
pub(super) struct Fields<'a>(Cow<'a, Map<String, Value>>);

impl<'a> Fields<'a> {
    pub(super) fn of_body(body: &[u8]) -> Result<Self, ErrorBody> {
        match serde_json::from_slice(body) {
            Ok(Value::Object(fields)) => Ok(Self(Cow::Owned(fields))),
            Ok(other) => Err(refusal(
                "model_attributes_type",
                "body",
                "Input should be a valid dictionary or object to extract fields from",
                &python(&other),
            )),
            Err(error) => Err(not_json(body, &error)),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn missing(&self, name: &str) -> ErrorBody {
        let input = format!("<dict of {} items>", self.0.len());
        refusal("missing", &format!("body.{name}"), "Field required", &python_text(&input))
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<f64>, ErrorBody> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let kind = "Input should be a valid number";
        match value {
            Value::Number(number) => Ok(number.as_f64()),
            Value::String(text) => text.trim().parse().map(Some).map_err(|_| {
                let what = format!("{kind}, unable to parse string as a number");
                validation("float_parsing", name, &what, value)
            }),
            _ => Err(validation("float_type", name, kind, value)),
        }
    }

    pub(super) fn integer(&self, name: &str) -> Result<Option<i64>, ErrorBody> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let kind = "Input should be a valid integer";
        match value {
            Value::Number(number) => {
                let whole = |number: &f64| number.fract() == 0.0 && number.abs() < 1e15;
                match number.as_i64().or_else(|| number.as_f64().filter(whole).map(|number| number as i64)) {
                    Some(number) => Ok(Some(number)),
                    None => Err(validation(
                        "int_from_float",
                        name,
                        &format!("{kind}, got a number with a fractional part"),
                        value,
                    )),
                }
            }
            Value::String(text) => text.trim().parse().map(Some).map_err(|_| {
                let what = format!("{kind}, unable to parse string as an integer");
                validation("int_parsing", name, &what, value)
            }),
            _ => Err(validation("int_type", name, kind, value)),
        }
    }

    /// False when absent.
    pub(super) fn flag(&self, name: &str) -> Result<bool, ErrorBody> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(validation("bool_type", name, "Input should be a valid boolean", other)),
        }
    }

    pub(super) fn object(&'a self, name: &str) -> Result<Option<Self>, ErrorBody> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(Self(Cow::Borrowed(fields)))),
            Some(other) => Err(validation(
                "model_attributes_type",
                name,
                "Input should be a valid dictionary or object to extract fields from",
                other,
            )),
        }
    }
}

/// A field of the wrong type.
pub(super) fn validation(kind: &str, field: &str, what: &str, input: &Value) -> ErrorBody {
    refusal(kind, &format!("body.{field}"), what, &python(input))
}

fn refusal(kind: &str, location: &str, what: &str, input: &str) -> ErrorBody {
    ErrorBody {
        message: format!(
            "1 validation error:\n  {{'type': '{kind}', 'loc': '{location}', 'msg': '{what}', 'input': {input}}}"
        ),
        kind: "Bad Request",
        param: Some(location.to_owned()),
        code: 400,
    }
}

/// Where Python's reader would have stopped: at the offending character, or at the end.
fn not_json(body: &[u8], error: &serde_json::Error) -> ErrorBody {
    let before: usize = body
        .split_inclusive(|byte| *byte == b'\n')
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    let column = if error.is_eof() { error.column() } else { error.column().saturating_sub(1) };
    let location = format!("body.{}", before + column);
    ErrorBody {
        message: format!(
            "1 validation error:\n  {{'type': 'json_invalid', 'loc': '{location}', 'msg': 'JSON decode error', \
             'input': '<dict of 0 items>', 'ctx': {{'error': 'Expecting value'}}}}"
        ),
        kind: "Bad Request",
        param: Some(location),
        code: 400,
    }
}

/// A value as Python's `repr` shows it; containers only by size.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(flag) => if *flag { "True" } else { "False" }.to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => python_text(text),
        Value::Array(items) => python_text(&format!("<list of {} items>", items.len())),
        Value::Object(fields) => python_text(&format!("<dict of {} items>", fields.len())),
    }
}

fn python_text(text: &str) -> String {
    let text: String = text.chars().take(MAX_ECHO).collect();
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
