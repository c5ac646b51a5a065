import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { scratch } from './folder.ts'

/**
 * Wraps the load generator wrk (https://github.com/wg/wrk, Debian's package `wrk`). It costs a fraction of
 * the one in `load.ts`, so that several event loops can be measured on two processors.
 */
export interface Requests {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  /** A Lua expression for the path of the next request. */
  readonly path: string
}

export interface WrkResult {
  readonly perSecond: number
  readonly requests: number
}

const run = promisify(execFile)

/**
 * @returns a function that sends requests over 32 connections for some seconds, and fails unless every
 * response is a success
 */
export function wrkWith({
  method,
  headers,
  path,
}: Requests): (address: string, seconds: number) => Promise<WrkResult> {
  const script = join(scratch(), 'requests.lua')
  const fields = Object.entries(headers).map(([name, value]) => `[${quote(name)}]=${quote(value)}`)
  writeFileSync(
    script,
    `math.randomseed(os.time())
     wrk.headers = {${fields.join(', ')}}
     request = function() return wrk.format(${quote(method)}, ${path}) end`,
  )
  return async (address, seconds) => {
    const { stdout } = await run('wrk', ['-t1', '-c32', `-d${seconds}s`, '-s', script, address]).catch(
      error => {
        throw error.code === 'ENOENT' ? new Error('this measurement needs wrk: apt-get install wrk') : error
      },
    )
    if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(stdout)
    return {
      perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
      requests: Number(/(\d+) requests in/.exec(stdout)?.[1]),
    }
  }
}

export const quote = (text: string): string => JSON.stringify(text)
