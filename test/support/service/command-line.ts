import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { scratch } from './postgres-server.ts'
import { entry, runCommand } from './process.ts'

/**
 * Creates a folder with a program `carrel` for shells. It runs each command in an existing process, with the
 * shell's arguments, environment, folder and input. Only `serve` and `start` run as processes of their own.
 */
export async function withCommandLine<T>(work: (programs: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(scratch, 'carrel-shell-'))
  const programs = join(folder, 'bin')
  const socket = join(folder, 'socket')
  mkdirSync(programs)
  writeFileSync(join(programs, 'carrel'), program(folder, socket))
  chmodSync(join(programs, 'carrel'), 0o755)
  const server = createServer(({ url = '' }, response) => {
    void runIn(url).then(code => response.end(`${code}`))
  })
  await new Promise<void>(resolve => server.listen(socket, resolve))
  try {
    return await work(programs)
  } finally {
    server.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Returns the program. A command reads its input only if an argument says so; otherwise the input is left to
 * the shell.
 */
const program = (folder: string, socket: string) => `#!/bin/bash
test "$1" != serve || exec node ${entry} "$@"
run=$(mktemp -d ${folder}/run-XXXXXX)
printf '%s\\0' "$PWD" "$@" > $run/args
env -0 > $run/env
case " $* " in *-stdin*|*' - '*) cat > $run/input ;; *) : > $run/input ;; esac
code=$(env curl -sS --unix-socket ${socket} "http://carrel$run")
if test /proc/self/fd/1 -ef /proc/self/fd/2; then cat $run/both; else cat $run/stdout; cat $run/stderr >&2; fi
exit $code
`

async function runIn(folder: string): Promise<number> {
  const [cwd = '', ...args] = parts(folder, 'args')
  const env = parts(folder, 'env').map(pair => /^([^=]*)=([\s\S]*)$/.exec(pair)?.slice(1) ?? [])
  const { code, ...outputs } = await runCommand({
    args,
    cwd,
    env: Object.fromEntries(env) as Record<string, string>,
    input: readFileSync(join(folder, 'input')),
  })
  for (const [name, bytes] of Object.entries(outputs)) writeFileSync(join(folder, name), bytes)
  return code
}

const parts = (folder: string, name: string) =>
  readFileSync(join(folder, name), 'utf8').split('\0').slice(0, -1)
