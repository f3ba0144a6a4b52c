// holdfast in opencode, or in its fork Kilo: context is compacted only after a verified flush. Every event goes to `holdfast-memory hook CLIENT`,
// one process an event, JSON on its standard input. At compaction any other exit code than ALLOWED throws, and opencode
// then makes no summary. opencode.json switches compaction off and this plugin switches it on, so that a plugin that does
// not load (a syntax error, `--pure`) leaves it off.
// opencode calls every export as a plugin, so there is one.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { homedir, tmpdir } from "node:os"
import { join } from "node:path"

// False where the user had switched compaction off before holdfast was installed: then it stays off.
const LIFTS = true
const WITHOUT =
  "To work without holdfast, delete ." + CLIENT + "/plugins/holdfast.js and take agent.compaction.disable out of " + CLIENT + ".json."
const READ_LIMIT_MS = 15_000
const TOAST_LIMIT_MS = 2_000
// After an event that got no answer in time, the ones that are no gate are left out for a while.
const PAUSE_MS = 60_000
// Share of the context window up to which nothing is asked, so that no tool waits for an answer.
const ROOM = 0.3
// A longer conversation is handed over in a file of this user's, which is removed again.
const MAX_INLINE_CHARS = 8_000_000

export const Holdfast = async ({ client, directory, worktree }) => {
  const sessions = new Map()
  const windows = new Map()
  let pausedUntil = 0
  let warned = false

  const sessionOf = (id) => {
    if (!sessions.has(id)) {
      const unknown = { id, parent: undefined, started: false, compacting: false, full: false, brief: "", ask: "" }
      sessions.set(id, { ...unknown, queue: Promise.resolve() })
    }
    return sessions.get(id)
  }

  // One event of a session after the other, in the order in which they came.
  const queued = (id, task) => {
    const session = sessionOf(id)
    const result = session.queue.then(async () => {
      session.parent ??= await parentOf(id)
      return task(session)
    })
    session.queue = result.catch(() => {})
    return result
  }

  // The session that this one is a sub-agent's of, or an empty text.
  const parentOf = async (id) => {
    try {
      return (await within(READ_LIMIT_MS, client.session.get({ path: { id } })))?.data?.parentID ?? ""
    } catch {
      return ""
    }
  }

  // Tells the person. `opencode run` has no window and hides what an error says, so there it goes to the terminal.
  const toast = (title, message, variant) => {
    if (process.argv[2] === "run") process.stderr.write(`holdfast: ${title}: ${message}\n`)
    const shown = Promise.resolve().then(() =>
      client.tui.showToast({ body: { title, message, variant, duration: 15_000 } }),
    )
    return within(TOAST_LIMIT_MS, shown).catch(() => {})
  }

  const messagesOf = async (id, query) => {
    try {
      const found = await within(READ_LIMIT_MS, client.session.messages({ path: { id }, query }))
      return Array.isArray(found?.data) ? found.data : undefined
    } catch {
      return undefined // the journal stands alone then
    }
  }

  // How full the context is: the tokens of the last answer since a compaction, and the model's limit. Empty where it is
  // not known.
  const useOf = async (session, model) => {
    const messages = (await messagesOf(session.id, { limit: 4 })) ?? []
    const last = messages.findLast(({ info }) => info?.role === "assistant" && (info.summary || info.tokens?.output))
    if (!last || last.info.summary === true) return {}
    const { input = 0, output = 0, reasoning = 0, cache = {} } = last.info.tokens
    const window = await windowOf(model ?? last.info)
    session.full = input + (cache.read ?? 0) > ROOM * window
    return window ? { tokens: input + output + reasoning + (cache.read ?? 0) + (cache.write ?? 0), window } : {}
  }

  const windowOf = async ({ providerID, modelID }) => {
    const key = `${providerID}/${modelID}`
    if (!windows.has(key)) {
      const found = await within(READ_LIMIT_MS, Promise.resolve().then(() => client.config.providers())).catch(() => {})
      const provider = found?.data?.providers?.find((one) => one.id === providerID)
      windows.set(key, provider?.models?.[modelID]?.limit?.context ?? 0)
    }
    return windows.get(key)
  }

  const tell = async (event, { id, parent }, more) => {
    const payload = { event, directory, ...(parent ? { sessionID: parent, agentID: id } : { sessionID: id }), ...more }
    const messages = JSON.stringify(more.messages ?? null)
    if (messages.length <= MAX_INLINE_CHARS) return run(directory, payload)
    const folder = await mkdtemp(join(tmpdir(), "holdfast-"))
    try {
      const path = join(folder, "messages.json")
      await writeFile(path, messages, { mode: 0o600 })
      return await run(directory, { ...payload, messages: path })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  // An event that is no gate: its answer, or an empty text. What a sub-agent does comes back to its parent as the result
  // of a tool; only its compactions are told.
  const note = async (event, session, more) => {
    if (Date.now() < pausedUntil || (session.parent && event !== "compacted")) return ""
    const answer = await tell(event, session, more)
    if (answer.late) pausedUntil = Date.now() + PAUSE_MS
    if (answer.code !== 0) {
      if (!warned) {
        warned = true
        await toast("hooks do not run", `${problem(answer)} Compaction is blocked until it does.`, "warning")
      }
      return ""
    }
    if (answer.stderr.trim()) await toast("notice", answer.stderr.trim(), "warning")
    return answer.stdout.trim()
  }

  const start = async (session, source) => {
    session.started = true
    session.compacting = false
    session.brief = await note("start", session, { source })
    session.ask = ""
  }

  return {
    config: async (config) => {
      if (LIFTS && config.agent?.compaction && !(await offElsewhere(directory, worktree)))
        delete config.agent.compaction.disable
    },

    "chat.message": (input, output) =>
      queued(input.sessionID, async (session) => {
        session.compacting = false
        if (!session.started) {
          const earlier = await messagesOf(session.id, { limit: 2 })
          await start(session, earlier?.length ? "resume" : "startup")
        }
        const messageID = output.message?.id ?? input.messageID
        const use = await useOf(session, input.model ?? output.message?.model)
        session.ask = await note("message", session, { messageID, parts: texts(output.parts), ...use }) // for this turn
      }).catch(() => {}),

    "tool.execute.after": async (input, output) => {
      const { tool, sessionID, callID, args } = input
      const exit = output.metadata?.exit // of the shell; other tools have none
      const failed = Number.isInteger(exit) && exit !== 0
      const told = { tool, callID, args, output: head(String(output.output ?? "")), failed }
      const asked = queued(sessionID, async (session) => note("tool", session, { ...told, ...(await useOf(session)) }))
      const session = sessions.get(sessionID)
      // Mostly not waited for: the agent goes on, and compaction waits for the queue.
      if (!session.full) return void asked.then((ask) => (session.ask = ask || session.ask)).catch(() => {})
      const ask = await asked.catch(() => "")
      if (ask) output.output = `${output.output ?? ""}\n\n<system-reminder>\n${ask}\n</system-reminder>`
    },

    "experimental.chat.system.transform": async (input, output) => {
      const session = sessions.get(input.sessionID)
      if (!session) return
      await session.queue
      if (session.compacting) return // what was recalled is not to be summarised
      for (const text of [session.brief, session.ask]) if (text) output.system.push(text)
    },

    "experimental.session.compacting": async (input, output) => {
      const answer = await queued(input.sessionID, async (session) =>
        tell("compacting", session, { messages: await messagesOf(session.id) }),
      )
      if (answer.code !== ALLOWED) {
        const reason = problem(answer)
        await toast("compaction blocked", reason, "error")
        throw new Error(`holdfast blocked the compaction: ${reason}`)
      }
      if (answer.stdout.trim()) output.context.push(answer.stdout.trim())
      sessionOf(input.sessionID).compacting = true
    },

    event: async ({ event }) => {
      const id = event.properties?.sessionID
      if (event.type === "session.compacted") {
        await queued(id, async (session) => {
          await note("compacted", session, { messages: await messagesOf(id) })
          await start(session, "compact")
        }).catch(() => {})
      } else if (event.type === "session.idle" && sessions.has(id)) {
        await queued(id, async (session) => {
          const parts = answerOf((await messagesOf(id, { limit: 100 })) ?? [])
          if (parts.length) await note("idle", session, { parts })
        }).catch(() => {})
      }
    },

    dispose: async () => {
      await Promise.all(
        [...sessions.keys()].map((id) =>
          queued(id, async (session) => note("dispose", session, { messages: await messagesOf(id) })).catch(() => {}),
        ),
      )
    },
  }
}

// Whether the user's or the project's settings switch compaction off and are not the ones that `holdfast install` wrote.
// Those name the protocol. An MCP server called holdfast may be the user's own.
async function offElsewhere(...folders) {
  const own = join(process.env.XDG_CONFIG_HOME || join(homedir(), ".config"), CLIENT)
  for (const folder of [own, ...folders]) {
    for (const name of [CLIENT + ".json", CLIENT + ".jsonc", "opencode.json", "opencode.jsonc"]) {
      const text = folder ? await readFile(join(folder, name), "utf8").catch(() => "") : ""
      if (!text.includes("holdfast-protocol.md") && /"compaction"\s*:\s*\{[^{}]*"disable"\s*:\s*true/.test(text)) return true
    }
  }
  return false
}

function texts(parts) {
  return (parts ?? [])
    .filter((part) => part.type === "text" && !part.synthetic && part.text)
    .map(({ id, text }) => ({ id, text }))
}

// The texts of the last answer: what the assistant said since the last message of the user.
function answerOf(messages) {
  const last = messages.findLastIndex((message) => message.info?.role === "user")
  return messages.slice(last + 1).flatMap((message) => texts(message.parts))
}

function within(ms, promise) {
  let timer
  const limit = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("no answer in time")), ms)))
  return Promise.race([promise, limit]).finally(() => clearTimeout(timer))
}
