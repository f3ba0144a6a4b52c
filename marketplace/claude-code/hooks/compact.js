// Made by `holdfast install`; `holdfast uninstall` takes it out again.
//
// holdfast's first layer in Claude Code. Another plugin's module can answer a compaction, and then the hook for PreCompact
// does not run. So this module asks first, and only exit code 0 of the guard script lets the compaction go on, to the other
// modules and to PreCompact. Claude Code reads the module as text: `$` is always spelled `$.noun.event(...)`.
const PROGRAM = ["holdfast-memory"]
const GUARD = "hooks/holdfast-guard.sh"
const LIMIT_MS = 58_000

export function register(on) {
  on("session.compact", async ($, e, next) => {
    let answer
    try {
      const [session, root, cwd] = [await $.session.id(), await $.session.root(), await $.session.cwd()]
      const event = { hook_event_name: "PreCompact", session_id: session, cwd, trigger: e.trigger }
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
    return next(e)
  })
}
