-- Each call of the store is one function, so that it is one statement in one round trip. A function's statements are
-- planned once for each connection of the server, also behind PgBouncer; sent one by one, planning them took four times as
-- long as running them. Most run with the caller's rights, so row security applies. A writer first locks its namespace's
-- row, so writers of one namespace take turns.
--
-- Raised SQLSTATEs: HF001 the namespace's row is missing or not visible, HF002 the expected revision is not stored,
-- HF003 a stored text differs from its digest (the detail names the document), HF004 the namespace belongs to a role of
-- which the caller is not a member (the detail names it).

-- ``owner`` is the role's name as it was given, which this binds to its OID. A restored row names its server and is not
-- bound.
CREATE OR REPLACE FUNCTION holdfast.bind_owner() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF TG_OP = 'UPDATE' OR NEW.server IS NULL THEN
        NEW.role := to_regrole(quote_ident(NEW.owner));
        NEW.server := (SELECT system_identifier FROM pg_control_system());
    END IF;
    RETURN NEW;
END $$;

-- The owning role: NULL for a namespace that does not exist, 0 for one without an owner. With the rights of the tables'
-- owner, because row security hides the row from the roles that have to know that it exists.
CREATE OR REPLACE FUNCTION holdfast.owning_role(space text) RETURNS oid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT CASE WHEN n.server = (SELECT system_identifier FROM pg_control_system()) THEN coalesce(n.role, 0) ELSE 0 END
        FROM holdfast.namespaces AS n WHERE n.namespace = space $$;

CREATE OR REPLACE FUNCTION holdfast.check_access(space text) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF NOT pg_has_role(holdfast.owning_role(space), 'MEMBER') THEN
        RAISE EXCEPTION 'not allowed' USING ERRCODE = 'HF004', DETAIL = space;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION holdfast.lock_namespace(space text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM holdfast.namespaces AS n WHERE n.namespace = space FOR UPDATE;
    IF NOT FOUND THEN RAISE EXCEPTION 'no such namespace' USING ERRCODE = 'HF001'; END IF;
END $$;

-- Inserting, recognising a duplicate and evicting in one step. ``most`` is the maximum number of facts, ``patience`` the
-- lock time-out. Kind 0: a duplicate, with its fact and the facts evicted for it. Kind 1: the id is taken. Kind 2: added;
-- ``gone`` has the ids of the evicted facts. Counting first takes the lock, so a duplicate counts back.
CREATE OR REPLACE FUNCTION holdfast.add_fact(space text, new_id text, key bytea, new_content text, new_category text,
    new_confidence double precision, new_created bigint, new_source text, new_words tsvector, most bigint, patience text,
    OUT kind integer, OUT id text, OUT content text, OUT category text, OUT confidence double precision,
    OUT created_us bigint, OUT source text, OUT gone text[]) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE held bigint; own bigint;
BEGIN
    PERFORM set_config('lock_timeout', patience, true);
    UPDATE holdfast.namespaces AS n SET facts = n.facts + 1 WHERE n.namespace = space RETURNING n.facts INTO held;
    IF NOT FOUND THEN RAISE EXCEPTION 'no such namespace' USING ERRCODE = 'HF001'; END IF;
    INSERT INTO holdfast.facts (namespace, id, duplicate, content, category, confidence, created_us, source, words)
        VALUES (space, new_id, key, new_content, new_category, new_confidence, new_created, new_source, new_words)
        ON CONFLICT DO NOTHING RETURNING seq INTO own;
    IF NOT FOUND THEN
        UPDATE holdfast.namespaces AS n SET facts = held - 1 WHERE n.namespace = space;
        SELECT 0, f.id, f.content, f.category, f.confidence, f.created_us, f.source, f.evicted
            INTO kind, id, content, category, confidence, created_us, source, gone
            FROM holdfast.facts AS f WHERE f.namespace = space AND f.duplicate = key;
        IF NOT FOUND THEN kind := 1; END IF;
        RETURN;
    END IF;
    kind := 2;
    IF held > most THEN
        WITH weakest AS (SELECT f.seq FROM holdfast.facts AS f WHERE f.namespace = space AND f.seq <> own
            ORDER BY f.confidence, f.created_us, f.seq LIMIT held - most),
        deleted AS (DELETE FROM holdfast.facts AS f WHERE f.namespace = space AND f.seq IN (SELECT seq FROM weakest)
            RETURNING f.id, f.confidence, f.created_us, f.seq)
        SELECT array_agg(d.id ORDER BY d.confidence, d.created_us, d.seq) INTO gone FROM deleted AS d;
        UPDATE holdfast.namespaces AS n SET facts = held - coalesce(cardinality(gone), 0) WHERE n.namespace = space;
        UPDATE holdfast.facts AS f SET evicted = gone WHERE f.namespace = space AND f.seq = own;
    END IF;
END $$;

-- The document as stored, without fields when there is none. Its namespace stays locked until the transaction ends.
CREATE OR REPLACE FUNCTION holdfast.locked_document(space text, doc text) RETURNS holdfast.documents LANGUAGE plpgsql AS $$
DECLARE old holdfast.documents;
BEGIN
    PERFORM 1 FROM holdfast.namespaces AS n WHERE n.namespace = space FOR UPDATE;
    IF NOT FOUND THEN RAISE EXCEPTION 'no such namespace' USING ERRCODE = 'HF001'; END IF;
    SELECT d.* INTO old FROM holdfast.documents AS d WHERE d.namespace = space AND d.name = doc;
    IF FOUND AND encode(sha256(convert_to(old.body, 'UTF8')), 'hex') <> old.revision THEN
        RAISE EXCEPTION 'damaged' USING ERRCODE = 'HF003', DETAIL = doc;
    END IF;
    RETURN old;
END $$;

-- ``expected`` is a revision, ``absent``, or NULL for any.
CREATE OR REPLACE FUNCTION holdfast.put_document(space text, doc text, new_body text, new_revision text, new_words tsvector,
    expected text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE old holdfast.documents; present boolean;
BEGIN
    old := holdfast.locked_document(space, doc);
    present := old.name IS NOT NULL;
    IF expected IS NOT NULL AND expected <> (CASE WHEN present THEN old.revision ELSE 'absent' END) THEN
        RAISE EXCEPTION 'changed' USING ERRCODE = 'HF002', DETAIL = doc;
    END IF;
    IF NOT present THEN
        INSERT INTO holdfast.documents (namespace, name, revision, body, words)
            VALUES (space, doc, new_revision, new_body, new_words);
    ELSIF old.revision <> new_revision THEN
        UPDATE holdfast.documents AS d SET body = new_body, revision = new_revision, words = new_words
            WHERE d.namespace = space AND d.name = doc;
    END IF;
    RETURN new_revision;
END $$;

-- ``first`` is the header and the block. A block's marker counts when it is alone on its line, with or without a CR. A
-- text with more words than a tsvector holds has none, and is then found by its text.
CREATE OR REPLACE FUNCTION holdfast.append_block(space text, doc text, marker text, first text, block text, first_words tsvector,
    block_words tsvector) RETURNS text LANGUAGE plpgsql AS $$
DECLARE old holdfast.documents; present boolean; joined text; digest text; all_words tsvector;
BEGIN
    old := holdfast.locked_document(space, doc);
    present := old.name IS NOT NULL;
    IF NOT present THEN
        digest := encode(sha256(convert_to(first, 'UTF8')), 'hex');
        INSERT INTO holdfast.documents (namespace, name, revision, body, words)
            VALUES (space, doc, digest, first, first_words);
        RETURN digest;
    END IF;
    IF position(marker IN old.body) > 0
        AND position(E'\n' || marker || E'\n' IN E'\n' || replace(old.body, E'\r\n', E'\n') || E'\n') > 0 THEN
        RETURN old.revision;
    END IF;
    joined := CASE WHEN old.body = '' THEN first WHEN right(old.body, 1) = E'\n' THEN old.body || block
        ELSE old.body || E'\n' || block END;
    digest := encode(sha256(convert_to(joined, 'UTF8')), 'hex');
    BEGIN
        all_words := old.words || CASE WHEN old.body = '' THEN first_words ELSE block_words END;
    EXCEPTION WHEN program_limit_exceeded THEN
        all_words := NULL;
    END;
    UPDATE holdfast.documents AS d SET body = joined, revision = digest, words = all_words
        WHERE d.namespace = space AND d.name = doc;
    RETURN digest;
END $$;
