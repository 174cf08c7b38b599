from edgewise.io.messages import quote_names, repeated


def test_quote_names_by_length():
    assert quote_names([]) == ""
    assert quote_names(["a"]) == "'a'"
    assert quote_names(["a", "b"]) == "'a' and 'b'"
    assert quote_names("abcde") == "'a', 'b', 'c', 'd' and 'e'"
    assert quote_names("abcdefg") == "'a', 'b', 'c', 'd', 'e' and 2 more"


def test_one_hidden_name_is_shown_instead_of_counted():
    assert quote_names("abcdef") == "'a', 'b', 'c', 'd', 'e' and 'f'"


def test_repeated_lists_each_name_once():
    assert repeated(["a", "b", "a", "c", "b", "a"]) == ["a", "b"]
