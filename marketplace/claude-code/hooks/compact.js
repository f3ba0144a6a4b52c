// Made by `holdfast install`; `holdfast uninstall` takes it out again.
//
// holdfast's first layer in Claude Code. Another plugin's module can answer a compaction, and then the hook for PreCompact
// does not run. So this module asks first, and only exit code 0 of the guard script lets the compaction go on, to the other
// modules and to PreCompact. Claude Code reads the module as text: `$` is always spelled `$.noun.event(...)`.
const PROGRAM = ["holdfast-memory"]
const GUARD = "hooks/holdfast-guard.sh"
const LIMIT_MS = 58_000
const LAST_CHARS = 40_000

export function register(on) {
  on("session.compact", async ($, e, next) => {
    let answer
    try {
      const [session, root, cwd] = [await $.session.id(), await $.session.root(), await $.session.cwd()]
      const event = { hook_event_name: "PreCompact", session_id: session, cwd, trigger: e.trigger, answers: true }
      if (e.agentId) event.agent_id = e.agentId
      event.transcript_path = (await $.session.info()).transcriptPath
      const folder = (await $.process.hookEnv({})).CLAUDE_PLUGIN_ROOT
      const words = ["sh", folder + "/" + GUARD, ...PROGRAM, "hook", "claude-code", "PreCompact"]
      const options = { cwd, env: { CLAUDE_PROJECT_DIR: root }, stdin: JSON.stringify(event), timeoutMs: LIMIT_MS }
      answer = await $.process.run(words, options)
    } catch (error) {
      return { skip: "holdfast keeps the context: it could not be asked (" + (error?.message ?? error) + "). Run `holdfast-memory doctor`." }
    }
    if (answer.exitCode !== 0) return { skip: answer.stderr.trim() || "holdfast keeps the context. Run `holdfast-memory doctor`." }
    const text = answer.stdout.trim() // holdfast's summary, with `[agents] compact = "holdfast"`
    return text ? { messages: [{ role: "user", text, toolUses: [] }, ...last(e.messages, text)] } : next(e)
  })
}

// The rows of the last request, or as many of its end as fit, without an earlier brief. A result needs its call. Without
// their handles Claude Code records them as a module's, so that no reader takes a copy for a new message.
function last(rows, brief) {
  const isResult = (row) => row.toolResults?.length > 0
  const isLeft = (row) => isResult(row) || row.text.startsWith(brief.slice(0, 40))
  let at = rows.findLastIndex((row) => row.role === "user" && !isResult(row))
  while (rows[at] && (isLeft(rows[at]) || JSON.stringify(rows.slice(at)).length > LAST_CHARS)) at += 1
  return rows[at] ? rows.slice(at).map(({ handle, ...row }) => row) : []
}
