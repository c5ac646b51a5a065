// Written by `carrel types http://localhost:8080`: the entities that its caller may read.
import type { Instant, Json } from '@carrel/client'

/** audit-events, by id. */
export interface AuditEvents {
  readonly id: number
  readonly time: Instant
  readonly event: string
  readonly outcome: string
  readonly eperson: string | null
  readonly actor: string | null
  readonly actor_email: string | null
  readonly client_ip: string | null
  readonly method: string | null
  readonly object: string | null
  readonly reason: string | null
  readonly count: number
  readonly changes: Json | null
  readonly repeats: Json | null
  readonly request: string | null
}

/** items, by uuid. */
export interface Items {
  readonly uuid: string
  readonly identifier: string
  readonly title: string | null
  readonly authors: Json
  readonly issued: string | null
  readonly type: string | null
  readonly metadata: Json
  readonly collections: Json
  readonly readers: Json | null
  readonly created: Instant
  readonly modified: Instant
  readonly withdrawn: boolean
  readonly discoverable: boolean
}

/** bitstreams, by uuid. */
export interface Bitstreams {
  readonly uuid: string
  readonly item: string
  readonly bundle: string
  readonly name: string
  readonly description: string | null
  readonly mime_type: string
  readonly size: number
  readonly sha256: string
  readonly readers: Json | null
  readonly created: Instant
}

/** letters, by id. Letters of fifteen writers. Everybody may read them, and Curators may change them. */
export interface Letters {
  readonly id: number
  readonly shelfmark: string
  readonly title: string
  readonly sender: string
  readonly recipient: string
  readonly place: string
  readonly year: number | null
  readonly pages: number
  readonly language: string | null
  readonly digitised: boolean
  readonly catalogued: Instant
  readonly subjects: Json
}

/** visits, by id. Visits to the reading room. Everybody who is logged in may read them. */
export interface Visits {
  readonly id: number
  readonly letter: number
  readonly reader: string
  readonly day: Instant
  readonly minutes: number
}

/** For `createClient<Entities>(…)`. */
export interface Entities {
  readonly 'audit-events': AuditEvents
  readonly items: Items
  readonly bitstreams: Bitstreams
  readonly letters: Letters
  readonly visits: Visits
}
