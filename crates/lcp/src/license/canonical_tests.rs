//! The canonical form of JSON as it occurs, and what has none.

use super::*;
use proptest::prelude::*;

fn form(text: &str) -> String {
    String::from_utf8(canonical(text).unwrap()).unwrap()
}

#[test]
fn members_are_sorted_at_every_level_and_arrays_are_not() {
    assert_eq!(
        form(r#" { "b" : [ 3 , {"z":1,"a":null}, 1 ], "a" : { "\u0062" : true , "a":false } } "#),
        r#"{"a":{"a":false,"b":true},"b":[3,{"a":null,"z":1},1]}"#
    );
}

/// In UTF-16 the second would come first.
#[test]
fn the_order_is_that_of_code_points() {
    assert_eq!(form("{\"\u{1f600}\":1,\"\u{fb01}\":2,\"é\":3}"), "{\"é\":3,\"\u{fb01}\":2,\"\u{1f600}\":1}");
}

#[test]
fn the_signature_is_removed_at_the_top_only() {
    assert_eq!(form(r#"{"signature":{"value":"x"},"user":{"signature":1}}"#), r#"{"user":{"signature":1}}"#);
}

#[test]
fn numbers_stay_as_they_stand() {
    let numbers = r#"{"a":[0,-0,1.10,1E5,1e-7,12345678901234567890123,0.1]}"#;
    assert_eq!(form(numbers), numbers);
}

#[test]
fn strings_are_escaped_as_the_servers_do() {
    assert_eq!(
        form(r#"{"a":"\u0000\b\t\n\f\r\u001f\"\\\/\u007f<>&\u2028\u2029\u00e9\ud83d\ude00"}"#),
        "{\"a\":\"\\u0000\\b\\t\\n\\f\\r\\u001f\\\"\\\\/\u{7f}<>&\\u2028\\u2029é😀\"}"
    );
}

#[test]
fn what_is_read_differently_is_refused() {
    let twice = canonical(r#"{"a":{"b":1,"\u0062":2}}"#);
    assert_eq!(twice, Err(LicenseFault::DuplicateMember { name: "b".into() }));
    for malformed in ["", "[]", "1", "{", r#"{"a":01}"#, r#"{"a":"\ud800"}"#, r#"{"a":1}x"#, r#"{"a":'1'}"#] {
        assert!(matches!(canonical(malformed), Err(LicenseFault::Malformed { .. })), "{malformed}");
    }
    let nested = |depth: usize| format!("{}{{}}{}", r#"{"a":"#.repeat(depth - 1), "}".repeat(depth - 1));
    assert!(canonical(&nested(DEEPEST)).is_ok());
    assert_eq!(canonical(&nested(DEEPEST + 1)), Err(LicenseFault::TooDeep { most: DEEPEST }));
    assert!(canonical(&format!("{{\"a\":{}", "[".repeat(100_000))).is_err());
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            proptest::collection::btree_map(any::<String>(), inner, 0..5)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// The form means what the text meant, and is its own form.
    #[test]
    fn the_form_means_the_same(object in proptest::collection::btree_map("[^s].*", json(), 0..5)) {
        let value = serde_json::Value::Object(object.into_iter().collect());
        let once = form(&serde_json::to_string_pretty(&value).unwrap());
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&once).unwrap(), value);
        prop_assert_eq!(form(&once), once.clone());
    }
}
