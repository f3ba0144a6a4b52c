"""Settings that would surprise somebody who has facts stored already."""

import pytest


def told(result):
    assert result.code == 0
    return " ".join(result.out.split())


def test_config__other_backend_without_what_is_stored__says_how_to_take_it_along(run, project):
    run("remember", "a")
    said = told(run("config", "storage.backend", "sqlite"))
    assert (
        "! You leave the file store with 1 fact and 0 documents, for the sqlite store with 0 facts and 0 documents."
        in said
    )
    assert run("facts").out.startswith("No fact is stored yet.")
    # What it says is what helps.
    assert "`holdfast config storage.backend file`, then `holdfast migrate --to sqlite`" in said
    assert told(run("config", "storage.backend", "file")) == "✓ storage.backend = file in holdfast.toml"
    assert run("migrate", "--to", "sqlite").code == 0
    assert told(run("config", "storage.backend", "sqlite")) == "✓ storage.backend = sqlite in holdfast.toml"
    assert run("facts", "--json").json["count"] == 1


def test_config__a_backend_that_is_not_there__refused_before_anything_is_written(run, project):
    run("remember", "a")
    refused = run("config", "storage.backend", "mysql")
    assert refused.code == 3
    assert "The backend 'mysql' is not installed." in refused.err
    assert not (project / "holdfast.toml").exists()
    assert run("facts", "--json").json["count"] == 1


@pytest.mark.req("R060")
def test_config__fewer_facts_than_are_stored__says_how_many_will_leave__and_so_many_do(run):
    for text in ("Cats purr", "Dogs bark", "Birds sing", "Fish swim", "Bees hum"):
        run("remember", text)
    done = run("config", "facts.max_facts", "3", "--json")
    assert done.json["warnings"] == ["3 of the 5 stored facts will be evicted when the next one is added."]
    assert len(run("remember", "one more", "--json").json["evicted"]) == 3
    assert run("config", "facts.max_facts", "3", "--json").json["warnings"] == []
