-- Schema step 3: a namespace belongs to a role by its OID. A name would break on DROP ROLE, and pass to the next role with
-- that name. OIDs mean other roles on another server, so a row counts only on the server on which it was written: in a
-- restored or replicated copy nothing is owned until the tables' owner gives it again. ``owner`` is the name that was
-- given, and the trigger binds it. A restored row names its server and is not bound.
--
-- Raised SQLSTATE: HF004 the namespace belongs to a role of which the caller is not a member (the detail names it).

DROP POLICY own ON holdfast.namespaces;
DROP POLICY own ON holdfast.documents;
DROP POLICY own ON holdfast.facts;
DROP POLICY own ON holdfast.versions;

-- The tables' owner gives namespaces to roles, and has to see them for that. What they hold stays under FORCE.
ALTER TABLE holdfast.namespaces NO FORCE ROW LEVEL SECURITY, ADD COLUMN role oid, ADD COLUMN server bigint;

CREATE FUNCTION holdfast.bind_owner() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF TG_OP = 'UPDATE' OR NEW.server IS NULL THEN
        NEW.role := to_regrole(quote_ident(NEW.owner));
        NEW.server := (SELECT system_identifier FROM pg_control_system());
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER bind_owner BEFORE INSERT OR UPDATE OF owner, role, server ON holdfast.namespaces
    FOR EACH ROW EXECUTE FUNCTION holdfast.bind_owner();
UPDATE holdfast.namespaces SET owner = owner;

-- The owning role: NULL for a namespace that does not exist, 0 for one without an owner. With the rights of the tables'
-- owner, because row security hides the row from the roles that have to know that it exists.
CREATE FUNCTION holdfast.owning_role(space text) RETURNS oid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT CASE WHEN n.server = (SELECT system_identifier FROM pg_control_system()) THEN coalesce(n.role, 0) ELSE 0 END
        FROM holdfast.namespaces AS n WHERE n.namespace = space $$;

CREATE FUNCTION holdfast.check_access(space text) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF NOT pg_has_role(holdfast.owning_role(space), 'MEMBER') THEN
        RAISE EXCEPTION 'not allowed' USING ERRCODE = 'HF004', DETAIL = space;
    END IF;
END $$;
