
// opencode 2 loads the default export and calls `setup` instead of `server`. Its hooks are turned into those above.
const setup = async (ctx) => {
  const { directory } = ctx.location
  const client = {
    session: {
      get: async ({ path }) => {
        const found = await ctx.session.get({ sessionID: path.id })
        return { data: found?.data ?? found }
      },
      messages: async ({ path, query }) => {
        const found = await ctx.session.context({ sessionID: path.id })
        return { data: (found?.data ?? found).flatMap(asMessage).slice(-(query?.limit ?? Infinity)) }
      },
    },
    config: {
      providers: async () => {
        const providers = {}
        for (const { id, providerID, limit } of (await ctx.model.list()).data)
          (providers[providerID] ??= { id: providerID, models: {} }).models[id] = { limit }
        return { data: { providers: Object.values(providers) } }
      },
    },
    tui: { showToast: async ({ body }) => console.warn(`holdfast: ${body.title}: ${body.message}`) },
  }
  const hooks = await Holdfast({ client, directory, worktree: directory })
  const pushed = (event, texts) => event.system.push(...texts.map((text) => ({ type: "text", text })))

  await ctx.session.hook("prompt", ({ sessionID, messageID, prompt }) => {
    const parts = [{ type: "text", id: messageID, text: prompt.text }]
    return hooks["chat.message"]({ sessionID, messageID }, { message: { id: messageID }, parts })
  })
  await ctx.tool.hook("execute.after", async (event) => {
    const { tool, sessionID, id, input, status, result, error } = event
    const metadata = { exit: status === "completed" ? result?.metadata?.exit : 1 }
    const said = told(result) || String(error?.message ?? "")
    const output = { output: said, metadata }
    await hooks["tool.execute.after"]({ tool, sessionID, callID: id, args: input }, output)
    const asked = output.output.slice(said.length).trim()
    if (asked && result) event.result = { ...result, content: [said, asked].map((text) => ({ type: "text", text })) }
  })
  await ctx.session.hook("context", async (event) => {
    const output = { system: [] }
    await hooks["experimental.chat.system.transform"](event, output)
    pushed(event, output.system)
  })
  // What it throws makes the compaction fail, which then records nothing.
  await ctx.session.hook("compaction", async (event) => {
    const output = { context: [] }
    await hooks["experimental.session.compacting"](event, output)
    pushed(event, output.context)
  })
  const controller = new AbortController()
  const follow = async () => {
    for await (const { type, data } of ctx.event.subscribe({ signal: controller.signal })) {
      const kind = type === "session.compaction.ended" ? "session.compacted" : "session.idle"
      if (type === "session.compaction.ended" || /^session\.execution\.(?:succeeded|failed|interrupted)$/.test(type))
        await hooks.event({ event: { type: kind, properties: data } })
    }
  }
  follow().catch(() => {}) // the subscription has ended
  return async () => {
    controller.abort()
    await hooks.dispose()
  }
}

// The text of a tool's result.
function told(result) {
  if (typeof result?.output === "string") return result.output
  const texts = [result?.content ?? []].flat().map((one) => one.text ?? one).filter((one) => typeof one === "string")
  return texts.join("\n") || JSON.stringify(result?.output) || ""
}

// A message of opencode 2 in version 1's form; none for what nobody said.
function asMessage({ id, type, text, content = [], status, summary, tokens, model }) {
  if (type === "user") return [{ info: { id, role: "user" }, parts: [{ type: "text", id, text }] }]
  if (type === "compaction" && status === "completed")
    return [{ info: { id, role: "assistant", summary: true }, parts: [{ type: "text", id, text: summary }] }]
  if (type !== "assistant") return []
  const info = { id, role: "assistant", tokens, providerID: model?.providerID, modelID: model?.id }
  const parts = content.map((part, number) => {
    if (part.type !== "tool") return { ...part, id: `${id}-${number}` }
    const { status, input, error } = part.state
    const state = { status, input, output: told(part.state), error: error?.message }
    return { type: "tool", id: part.id, callID: part.id, tool: part.name, state }
  })
  return [{ info, parts }]
}

export default { id: "holdfast", server: Holdfast, setup }
