// holdfast in pi: context is compacted only after a verified flush. Every event goes to `holdfast-memory hook pi`, one
// process an event, JSON on its standard input. At compaction any other exit code than ALLOWED cancels. pi compacts when a
// handler throws, so everything is caught.
const WITHOUT = "To work without holdfast, delete .pi/extensions/holdfast.js."

export default function (pi) {
  let queue = Promise.resolve()
  let started = ""
  let brief = ""
  let ask = ""

  // One event after the other, in the order in which they came.
  const queued = (task) => {
    const result = queue.then(task)
    queue = result.catch(() => {})
    return result
  }

  // `pi -p` has no window, so there it goes to the terminal.
  const show = (ctx, text, kind) => {
    try {
      if (ctx.hasUI) ctx.ui.notify(`holdfast: ${text}`, kind)
      else process.stderr.write(`holdfast: ${text}\n`)
    } catch {} // the window is gone
  }

  const tell = (ctx, event, more) => {
    const sessions = ctx.sessionManager
    const messages = sessions.getSessionFile() ?? undefined
    return run(ctx.cwd, { event, sessionID: sessions.getSessionId(), directory: ctx.cwd, messages, ...more })
  }

  // An event that is no gate: its answer, or an empty text.
  const note = async (ctx, event, more) => {
    const answer = await tell(ctx, event, more)
    if (answer.code !== 0) show(ctx, `${problem(answer)} Compaction is blocked until it does.`, "warning")
    else if (answer.stderr.trim()) show(ctx, answer.stderr.trim(), "warning")
    return answer.code === 0 ? answer.stdout.trim() : ""
  }

  const start = async (ctx, source) => {
    started = ctx.sessionManager.getSessionId()
    brief = await note(ctx, "start", { source })
  }

  const useOf = (ctx) => {
    const use = ctx.getContextUsage()
    return use?.tokens ? { tokens: use.tokens, window: use.contextWindow } : {}
  }

  pi.on("before_agent_start", (event, ctx) =>
    queued(async () => {
      if (started !== ctx.sessionManager.getSessionId()) {
        await start(ctx, ctx.sessionManager.getBranch().some((entry) => entry.type === "message") ? "resume" : "startup")
      }
      ask = event.prompt ? await note(ctx, "message", { text: head(event.prompt), ...useOf(ctx) }) : ""
      const texts = [event.systemPrompt, brief, ask].filter(Boolean)
      return texts.length > 1 ? { systemPrompt: texts.join("\n\n") } : undefined
    }).catch(() => undefined),
  )

  pi.on("tool_result", (event, ctx) => {
    const { toolName: tool, toolCallId: callID, input: args, isError: failed } = event
    const told = { tool, callID, args, failed, output: head(texts(event.content)), ...useOf(ctx) }
    return queued(async () => {
      const ask = await note(ctx, "tool", told)
      if (ask) return { content: [...event.content, { type: "text", text: `<system-reminder>\n${ask}\n</system-reminder>` }] }
    }).catch(() => undefined)
  })

  pi.on("agent_end", (event, ctx) =>
    queued(() => {
      const last = event.messages.findLast((message) => message.role === "assistant")
      return last && note(ctx, "idle", { text: head(texts(last.content)) })
    }).catch(() => undefined),
  )

  pi.on("session_before_compact", async (event, ctx) => {
    let reason
    try {
      const answer = await queued(() => tell(ctx, "compacting", { trigger: event.reason, answers: true }))
      if (answer.code === ALLOWED) {
        const summary = answer.stdout.trim() // holdfast's, with `[agents] compact = "holdfast"`
        const { firstKeptEntryId, tokensBefore } = event.preparation
        return summary ? { compaction: { summary, firstKeptEntryId, tokensBefore } } : undefined
      }
      reason = problem(answer)
    } catch (error) {
      reason = String(error?.message ?? error)
    }
    show(ctx, `compaction blocked: ${reason}`, "error")
    return { cancel: true }
  })

  pi.on("session_compact", (event, ctx) =>
    queued(async () => {
      await note(ctx, "compacted", { summary: event.compactionEntry?.summary })
      await start(ctx, "compact")
    }).catch(() => undefined),
  )

  pi.on("session_shutdown", (event, ctx) => queued(() => note(ctx, "dispose", {})).catch(() => undefined))
}

function texts(content) {
  if (typeof content === "string") return content
  return (content ?? []).map((part) => part.text ?? "").filter(Boolean).join("\n")
}
