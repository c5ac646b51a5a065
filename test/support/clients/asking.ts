import assert from 'node:assert/strict'
import type { Client } from './client.ts'
import { type ListProblem, problemOf, queryPath } from './listings.ts'

/** Asks in PQL. */
export function asking(client: Client) {
  const answer = (query: string) => client.get(`${queryPath}?query=${encodeURIComponent(query)}`)
  return {
    answer,
    rows: async (query: string): Promise<Record<string, unknown>[]> => {
      const response = await answer(query)
      const text = await response.text()
      assert.equal(response.status, 200, `${query}: ${text}`)
      return JSON.parse(text) as Record<string, unknown>[]
    },
    refused: async (query: string): Promise<ListProblem> => problemOf(await answer(query), 400),
  }
}
