"""Settings that would surprise somebody who has facts stored already."""


def test_config__other_backend__says_how_to_take_along_what_is_stored(run, project):
    run("remember", "a")
    said = " ".join(run("config", "storage.backend", "sqlite").out.split())
    assert run("facts").out.startswith("No fact is stored yet.")
    # What it says is what helps.
    assert "`holdfast config storage.backend file`, then `holdfast migrate --to sqlite`" in said
    assert run("config", "storage.backend", "file").code == 0
    assert run("migrate", "--to", "sqlite").code == 0
    assert run("config", "storage.backend", "sqlite").code == 0
    assert run("facts", "--json").json["count"] == 1
