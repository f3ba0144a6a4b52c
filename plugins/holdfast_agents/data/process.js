// Made by `holdfast install`; `holdfast uninstall` takes it out again.
//
// The program that every plugin of holdfast's asks, and its answer. Plain JavaScript and `node:` imports: nothing is fetched.
import { spawn } from "node:child_process"

const PROGRAM = ["holdfast-memory"]
const CLIENT = "opencode"
const MISSING =
  "The program `" + PROGRAM[0] + "` is not installed here, or not on " + CLIENT + "'s PATH. Install it with `@INSTALL@`."
// The exit code that allows a compaction. Code 0 comes from another program, or from an early exit.
const ALLOWED = 10
// How long each event may take. The program answers by itself well before.
const LIMIT_MS = { compacting: 60_000, start: 25_000, compacted: 25_000, dispose: 25_000 }
const DEFAULT_LIMIT_MS = 12_000
const MAX_CHARS = 200_000

// Runs the program once. Never rejects: `code` is null when there was no exit, `late` tells a time-out.
function run(cwd, payload) {
  const [program, ...words] = PROGRAM
  return new Promise((resolve) => {
    const answer = { code: null, stdout: "", stderr: "", late: false, error: "" }
    let child
    let timer
    const finish = (changes) => {
      clearTimeout(timer)
      resolve({ ...answer, ...changes })
    }
    try {
      // A group of its own on POSIX: a closed terminal does not take it along, and all of it can be ended.
      const detached = process.platform !== "win32"
      const allow = payload.event === "compacting" ? ["--allow", String(ALLOWED)] : []
      child = spawn(program, [...words, "hook", CLIENT, payload.event, ...allow], { cwd, detached, windowsHide: true, stdio: "pipe" })
    } catch (error) {
      finish({ error: String(error?.message ?? error) })
      return
    }
    timer = setTimeout(() => {
      end(child)
      finish({ late: true })
    }, LIMIT_MS[payload.event] ?? DEFAULT_LIMIT_MS)
    child.stdout.setEncoding("utf8").on("data", (text) => (answer.stdout = (answer.stdout + text).slice(0, MAX_CHARS)))
    child.stderr.setEncoding("utf8").on("data", (text) => (answer.stderr = (answer.stderr + text).slice(0, MAX_CHARS)))
    child.on("error", (error) => finish({ error: error.code ?? error.message }))
    child.on("close", (code, signal) => finish({ code, error: signal ?? "" }))
    child.stdin.on("error", () => {}) // it ended without reading: its exit code says why
    child.stdin.end(JSON.stringify(payload))
  })
}

function end(child) {
  try {
    if (process.platform === "win32") child.kill()
    else process.kill(-child.pid, "SIGKILL")
  } catch {
    child.kill("SIGKILL")
  }
}

function problem(answer) {
  if (answer.late) return `${PROGRAM.join(" ")} gave no answer in time. Run \`@PROGRAM@ doctor\`.`
  if (answer.error === "ENOENT") return `${MISSING} ${WITHOUT}`
  if (answer.error) return `${PROGRAM.join(" ")} could not run (${answer.error}). Run \`@PROGRAM@ doctor\`. ${WITHOUT}`
  if (answer.code === 0) return `${PROGRAM.join(" ")} ended without an answer. Run \`@PROGRAM@ doctor\`.`
  const said = answer.stderr.trim()
  if ((answer.code === 2 || answer.code === 3) && said) return said
  const ended = said || `holdfast ended with exit code ${answer.code}.`
  return `${ended}\nRun \`@PROGRAM@ doctor\`. If that fails, reinstall it with \`@REPAIR@\`.`
}

// At most MAX_CHARS of a text, ended between two words: no rule knows half a secret.
function head(text) {
  if (text.length <= MAX_CHARS) return text
  const cut = text.slice(0, MAX_CHARS)
  return cut.slice(0, Math.max(cut.lastIndexOf(" "), cut.lastIndexOf("\n"))) || cut
}

