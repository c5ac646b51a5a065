import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { temporaryFolder } from './service.ts'

interface SpecialGroups {
  readonly ip?: readonly { group: string; ranges: readonly string[] }[]
  readonly method?: readonly { group: string; method: 'password' }[]
}

/** Settings with special groups, which only a file can hold; the tests' own address is a trusted proxy. */
export function withSpecialGroups(t: TestContext, specialGroups: SpecialGroups): Record<string, string> {
  const file = join(temporaryFolder(t), 'carrel.json')
  writeFileSync(file, JSON.stringify({ specialGroups }))
  return { CARREL_CONFIG: file, CARREL_TRUSTED_PROXIES: '127.0.0.1' }
}

/** The request comes from there, as the trusted proxy says. */
export const from = (address: string): { 'x-forwarded-for': string } => ({ 'x-forwarded-for': address })
