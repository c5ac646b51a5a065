import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { temporaryFolder } from './service.ts'

interface SpecialGroups {
  readonly ip?: readonly { group: string; ranges: readonly string[] }[]
  readonly method?: readonly { group: string; method: 'password' }[]
}

/**
 * Returns settings with special groups, which must be in a file. The tests' own address is a trusted proxy.
 */
export function withSpecialGroups(t: TestContext, specialGroups: SpecialGroups): Record<string, string> {
  const file = join(temporaryFolder(t), 'carrel.json')
  writeFileSync(file, JSON.stringify({ specialGroups }))
  return { CARREL_CONFIG: file, CARREL_TRUSTED_PROXIES: '127.0.0.1' }
}

/** Returns a header with which the trusted proxy gives the address of a request. */
export const from = (address: string): { 'x-forwarded-for': string } => ({ 'x-forwarded-for': address })
