// Generated from the OpenAPI document by `npm run docs`.
import type { Json } from './query.ts'

/** What requests and answers are made of. */
export interface Schemas {
  readonly Access: {
    readonly eperson: {
      readonly uuid: string
      readonly email: string
      readonly canLogIn: boolean
    }
    readonly administrator: boolean
    readonly address: (string | null)
    readonly method: (string | null)
    readonly groups: readonly ({
      readonly uuid: string
      readonly name: string
      readonly because: readonly (({
        readonly how: 'member'
      } | {
        readonly how: 'group'
        readonly group: string
      } | {
        readonly how: 'address'
        readonly ranges: readonly (string)[]
      } | {
        readonly how: 'method'
        readonly method: string
      }))[]
    })[]
    readonly groupsTotal: number
    readonly entities: readonly ({
      readonly name: string
      readonly read: Schemas['Right']
      readonly write: Schemas['Right']
    })[]
    readonly entitiesTotal: number
    readonly items: number
    readonly files: number
    readonly object?: ({
      readonly uuid: string
      readonly type: 'item'
      readonly withdrawn: boolean
      readonly discoverable: boolean
      readonly read: Schemas['Right']
      readonly write: Schemas['Right']
    } | {
      readonly uuid: string
      readonly type: 'bitstream'
      readonly item: string
      readonly read: Schemas['Right']
      readonly write: Schemas['Right']
    })
    readonly record?: {
      readonly entity: string
      readonly key?: string
      readonly read: Schemas['Right']
      readonly write: Schemas['Right']
    }
  }
  readonly AccessStatus: {
    readonly status: 'open.access' | 'embargo' | 'restricted' | 'metadata.only'
    readonly embargoDate: (string | null)
    readonly type: 'accessStatus'
    readonly _links: {
      readonly self: Schemas['Link']
    }
  }
  readonly AccessToken: {
    readonly id: string
    readonly name: string
    readonly prefix: string
    readonly methods: readonly ('GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE')[]
    readonly parts: readonly ('query' | 'items' | 'people' | 'administration' | 'processes')[]
    readonly entities: (readonly (string)[] | null)
    readonly networks: readonly (string)[]
    readonly created: string
    readonly expires: string
    readonly lastUsed: (string | null)
    readonly type: 'accesstoken'
    readonly _links: {
      readonly self: Schemas['Link']
    }
  }
  readonly AccessTokenOf: {
    readonly id: string
    readonly name: string
    readonly prefix: string
    readonly methods: readonly ('GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE')[]
    readonly parts: readonly ('query' | 'items' | 'people' | 'administration' | 'processes')[]
    readonly entities: (readonly (string)[] | null)
    readonly networks: readonly (string)[]
    readonly created: string
    readonly expires: string
    readonly lastUsed: (string | null)
    readonly type: 'accesstoken'
    readonly _links: {
      readonly self: Schemas['Link']
    }
    readonly eperson: string
  }
  readonly AccessTokenPage: {
    readonly _embedded: {
      readonly tokens: readonly (Schemas['AccessToken'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly AccessTokensOfAllPage: {
    readonly _embedded: {
      readonly tokens: readonly (Schemas['AccessTokenOf'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly Alert: {
    readonly alertId: number
    readonly message: string
    readonly active: boolean
    readonly countdownTo: (string | null)
    readonly allowSessions: 'all' | 'current' | 'admin'
    readonly type: 'systemwidealert'
    readonly _links: {
      readonly self: Schemas['Link']
    }
  }
  readonly AlertPage: {
    readonly _embedded: {
      readonly systemwidealerts: readonly (Schemas['Alert'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly AuditEvent: {
    readonly id: string
    readonly epersonUUID: (string | null)
    readonly subjectUUID: (string | null)
    readonly subjectType: ('EPERSON' | 'GROUP' | 'ITEM' | 'BITSTREAM' | null)
    readonly objectUUID: null
    readonly objectType: null
    readonly eventType: string
    readonly timeStamp: string
    readonly detail: (string | null)
    readonly metadataField: null
    readonly value: (string | null)
    readonly authority: null
    readonly confidence: null
    readonly place: null
    readonly action: (string | null)
    readonly checksum: null
    readonly type: 'auditevent'
    readonly _links: {
      readonly eperson: Schemas['Link']
      readonly object: Schemas['Link']
      readonly subject: Schemas['Link']
      readonly self: Schemas['Link']
    }
    readonly _embedded?: {
      readonly eperson?: Schemas['Embedded']
      readonly object?: Schemas['Embedded']
      readonly subject?: Schemas['Embedded']
    }
  }
  readonly AuditEventPage: {
    readonly _embedded: {
      readonly auditevents: readonly (Schemas['AuditEvent'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly Authorization: {
    readonly id: string
    readonly type: 'authorization'
    readonly _links: {
      readonly eperson?: Schemas['Link']
      readonly feature: Schemas['Link']
      readonly object: Schemas['Link']
      readonly self: Schemas['Link']
    }
    readonly _embedded: {
      readonly feature: Schemas['Feature']
      readonly eperson?: Schemas['Embedded']
      readonly object?: Schemas['Embedded']
    }
  }
  readonly AuthorizationPage: {
    readonly _embedded: {
      readonly authorizations: readonly (Schemas['Authorization'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly Backup: {
    readonly name: string
    readonly complete: boolean
    readonly fault: (string | null)
    readonly made: (string | null)
    readonly carrel: (string | null)
    readonly bytes: (number | null)
    readonly contents: (number | null)
    readonly lost: (number | null)
  }
  readonly Bitstream: {
    readonly id: string
    readonly uuid: string
    readonly name: string
    readonly handle: null
    readonly metadata: Schemas['Metadata']
    readonly bundleName: string
    readonly sizeBytes: number
    readonly checkSum: Schemas['CheckSum']
    readonly sequenceId: null
    readonly type: 'bitstream'
    readonly _links: {
      readonly accessStatus: Schemas['Link']
      readonly bundle: Schemas['Link']
      readonly content: Schemas['Link']
      readonly format: Schemas['Link']
      readonly self: Schemas['Link']
      readonly thumbnail: Schemas['Link']
    }
    readonly _embedded?: {
      readonly accessStatus?: Schemas['Embedded']
      readonly bundle?: Schemas['Embedded']
      readonly format?: Schemas['Embedded']
      readonly thumbnail?: Schemas['Embedded']
    }
  }
  readonly BitstreamFormat: {
    readonly id: string
    readonly shortDescription: string
    readonly description: string
    readonly mimetype: string
    readonly supportLevel: 'KNOWN' | 'UNKNOWN'
    readonly internal: false
    readonly extensions: readonly (string)[]
    readonly type: 'bitstreamformat'
    readonly _links: {
      readonly self: Schemas['Link']
    }
  }
  readonly BitstreamFormatPage: {
    readonly _embedded: {
      readonly bitstreamformats: readonly (Schemas['BitstreamFormat'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly BitstreamPage: {
    readonly _embedded: {
      readonly bitstreams: readonly (Schemas['Bitstream'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly Bundle: {
    readonly id: string
    readonly uuid: string
    readonly name: string
    readonly handle: null
    readonly metadata: Schemas['Metadata']
    readonly type: 'bundle'
    readonly _links: {
      readonly bitstreams: Schemas['Link']
      readonly item: Schemas['Link']
      readonly primaryBitstream: Schemas['Link']
      readonly self: Schemas['Link']
    }
    readonly _embedded?: {
      readonly bitstreams?: Schemas['Embedded']
      readonly item?: Schemas['Embedded']
      readonly primaryBitstream?: Schemas['Embedded']
    }
  }
  readonly BundlePage: {
    readonly _embedded: {
      readonly bundles: readonly (Schemas['Bundle'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly Challenge: {
    readonly publicKey: { readonly [name: string]: unknown }
    readonly type: 'challenge'
  }
  readonly CheckSum: {
    readonly checkSumAlgorithm: 'SHA-256'
    readonly value: string
  }
  readonly Duration: {
    readonly count: number
    readonly sum: number
    readonly p50: (number | null)
    readonly p90: (number | null)
    readonly p99: (number | null)
  }
  readonly Embedded: ({ readonly [name: string]: unknown } | null)
  readonly EnrolledFactor: {
    readonly enrolment: string
    readonly totp?: string
    readonly webauthn?: { readonly [name: string]: unknown }
    readonly endOtherSessions?: boolean
  }
  readonly Entity: {
    readonly name: string
    readonly source: 'imported' | 'exposed' | 'built-in'
    readonly description: (string | null)
    readonly read: string
    readonly write: (string | null)
    readonly key: (string | readonly (string)[])
    readonly fields: readonly ({
      readonly name: string
      readonly type: 'integer' | 'number' | 'boolean' | 'date-time' | 'text' | 'json'
      readonly nullable: boolean
      readonly sortable?: false
      readonly collation?: string
      readonly list?: true
      readonly label?: string
      readonly help?: string
      readonly unit?: string
      readonly format?: 'link' | 'image' | 'e-mail' | 'year' | 'identifier' | 'paragraphs' | 'json'
      readonly required?: true
      readonly default?: (string | number | boolean)
      readonly unique?: true
      readonly oneOf?: readonly ((string | number | boolean))[]
      readonly references?: string
    })[]
    readonly records: (number | null)
    readonly bytes: (number | null)
    readonly imported: (string | null)
    readonly table: ({
      readonly schema: string
      readonly name: string
    } | null)
    readonly relations: readonly (Schemas['Relation'])[]
    readonly related: readonly (Schemas['Relation'])[]
    readonly defaultCondition: Json
    readonly recipe?: Schemas['Recipe']
    readonly _links: {
      readonly self: Schemas['Link']
      readonly records: Schemas['Link']
      readonly import?: Schemas['Link']
      readonly versions?: Schemas['Link']
    }
    readonly suggested: readonly (Schemas['SuggestedRelation'])[]
    readonly warnings?: readonly ({
      readonly member: string
      readonly detail: string
    })[]
  }
  readonly EntityChange: {
    readonly name?: string
    readonly read?: string
    readonly write?: (string | null)
    readonly description?: (string | null)
    readonly relations?: (readonly ({
      readonly fields: readonly (string)[]
      readonly to: {
        readonly entity: string
        readonly fields: readonly (string)[]
      }
    })[] | null)
    readonly defaultCondition?: ((string | readonly (Json)[]) | null)
    readonly recipe?: (Schemas['Recipe'] | null)
    readonly collations?: { readonly [name: string]: (string | null) }
    readonly fields?: { readonly [name: string]: ({
      readonly label?: (string | null)
      readonly help?: (string | null)
      readonly unit?: (string | null)
      readonly format?: ('link' | 'image' | 'e-mail' | 'year' | 'identifier' | 'paragraphs' | 'json' | null)
      readonly required?: (boolean | null)
      readonly default?: ((string | number | boolean) | null)
      readonly unique?: (boolean | null)
      readonly oneOf?: (readonly ((string | number | boolean))[] | null)
      readonly references?: (string | null)
    } | null) }
  }
  readonly EntityDescription: {
    readonly name: string
    readonly description?: string
    readonly key: (string | readonly (string)[])
    readonly fields: readonly (Schemas['Field'])[]
    readonly relations?: readonly (Schemas['Relation'])[]
    readonly writable?: true
    readonly href: string
  }
  readonly EntityPage: {
    readonly _embedded: {
      readonly entities: readonly (Schemas['ListedEntity'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly EntityRecord: { readonly [name: string]: Json }
  readonly Eperson: {
    readonly id: string
    readonly uuid: string
    readonly name: string
    readonly email: string
    readonly canLogIn: boolean
    readonly requireCertificate: false
    readonly netid: null
    readonly metadata: Schemas['Metadata']
    readonly administrator?: boolean
    readonly hasPassword?: boolean
    readonly factors?: readonly ('passkey' | 'totp')[]
    readonly type: 'eperson'
    readonly _links: {
      readonly groups: Schemas['Link']
      readonly self: Schemas['Link']
    }
    readonly _embedded?: {
      readonly groups?: Schemas['Embedded']
    }
  }
  readonly EpersonPage: {
    readonly _embedded: {
      readonly epersons: readonly (Schemas['Eperson'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly ExplainedSignOn: {
    readonly provider: string
    readonly signature: (string | null)
    readonly subject: (string | null)
    readonly email: (string | null)
    readonly emailIgnored: (string | null)
    readonly outcome: string
    readonly why: (string | null)
    readonly eperson: ({
      readonly uuid: string
      readonly email: string
    } | null)
    readonly specialGroups: readonly (string)[]
  }
  readonly Explanation: {
    readonly engine: string
    readonly entity: string
    readonly condition: Json
    readonly kept?: boolean
    readonly sql?: string
    readonly steps?: readonly (string)[]
    readonly indexes?: readonly (string)[]
    readonly advice?: (string | null)
    readonly ran?: {
      readonly rows: number
      readonly milliseconds: number
    }
  }
  readonly ExposableTable: {
    readonly schema: string
    readonly name: string
    readonly kind: 'table' | 'view' | 'materialized view' | 'foreign table'
    readonly key: readonly (string)[]
    readonly fields: readonly ({
      readonly name: string
      readonly type: 'integer' | 'number' | 'boolean' | 'date-time' | 'text' | 'json'
      readonly nullable: boolean
      readonly sortable?: false
      readonly collation?: string
      readonly list?: true
      readonly label?: string
      readonly help?: string
      readonly unit?: string
      readonly format?: 'link' | 'image' | 'e-mail' | 'year' | 'identifier' | 'paragraphs' | 'json'
      readonly required?: true
      readonly default?: (string | number | boolean)
      readonly unique?: true
      readonly oneOf?: readonly ((string | number | boolean))[]
      readonly references?: string
    })[]
    readonly entities: readonly (string)[]
  }
  readonly ExposableTablePage: {
    readonly _embedded: {
      readonly tables: readonly (Schemas['ExposableTable'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly Factor: {
    readonly id: string
    readonly kind: 'totp' | 'passkey'
    readonly name: string
    readonly alone: boolean
    readonly created: string
    readonly lastUsed: (string | null)
    readonly type: 'factor'
    readonly _links: {
      readonly self: Schemas['Link']
    }
  }
  readonly FactorEnrolment: {
    readonly enrolment: string
    readonly kind: 'totp' | 'passkey'
    readonly type: 'enrolment'
    readonly secret?: string
    readonly uri?: string
    readonly publicKey?: { readonly [name: string]: unknown }
  }
  readonly FactorPage: {
    readonly _embedded: {
      readonly factors: readonly (Schemas['Factor'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly setting: 'off' | 'optional' | 'administrators' | 'everybody'
    readonly required: boolean
    readonly recoveryCodes: number
    readonly hasPassword: boolean
    readonly passkeys: boolean
    readonly _links: {
      readonly first?: Schemas['Link']
      readonly prev?: Schemas['Link']
      readonly next?: Schemas['Link']
      readonly last?: Schemas['Link']
      readonly self: Schemas['Link']
    }
  }
  readonly FactorProof: {
    readonly totp?: string
    readonly recovery?: string
    readonly webauthn?: { readonly [name: string]: unknown }
    readonly password?: string
  }
  readonly Feature: {
    readonly id: string
    readonly description: string
    readonly resourcetypes: readonly ('site' | 'eperson' | 'group' | 'item' | 'bundle' | 'bitstream')[]
    readonly type: 'feature'
    readonly _links: {
      readonly self: Schemas['Link']
    }
  }
  readonly FeaturePage: {
    readonly _embedded: {
      readonly features: readonly (Schemas['Feature'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly Field: {
    readonly name: string
    readonly type: 'integer' | 'number' | 'boolean' | 'date-time' | 'text' | 'json'
    readonly nullable: boolean
    readonly sortable?: false
    readonly collation?: string
    readonly list?: true
    readonly label?: string
    readonly help?: string
    readonly unit?: string
    readonly format?: 'link' | 'image' | 'e-mail' | 'year' | 'identifier' | 'paragraphs' | 'json'
    readonly required?: true
    readonly default?: (string | number | boolean)
    readonly unique?: true
    readonly oneOf?: readonly ((string | number | boolean))[]
    readonly references?: string
  }
  readonly FieldRecipe: {
    readonly read?: 'text' | 'integer' | 'number' | 'boolean' | 'date-time' | 'json' | 'decimal-comma' | 'decimal-point' | 'day-first' | 'list'
    readonly separator?: string
    readonly collation?: string
    readonly empty?: readonly (string)[]
    readonly rename?: string
    readonly leaveOut?: boolean
  }
  readonly FieldsChange: {
    readonly add?: readonly ({
      readonly name: string
      readonly type: 'text' | 'integer' | 'number' | 'boolean' | 'date-time' | 'json'
      readonly default?: (string | number | boolean)
    })[]
    readonly remove?: readonly (string)[]
    readonly rename?: { readonly [name: string]: string }
    readonly types?: { readonly [name: string]: 'text' | 'integer' | 'number' | 'boolean' | 'date-time' | 'json' }
  }
  readonly Figures: {
    readonly time: string
    readonly started: string
    readonly workers: {
      readonly running: number
      readonly wanted: number
      readonly replaced: number
      readonly loops: readonly ({
        readonly worker: number
        readonly heapBytes: number
        readonly delay: Schemas['Duration']
      })[]
    }
    readonly processor: {
      readonly seconds: number
    }
    readonly memory: {
      readonly residentBytes: number
      readonly cacheBytes: number
      readonly cacheEntries: number
      readonly cacheMaxBytes: number
    }
    readonly openFiles: number
    readonly storeBytes: { readonly [name: string]: number }
    readonly eventsBytes: number
    readonly eventsMaxBytes: number
    readonly logins: readonly ({
      readonly method: string
      readonly success?: number
      readonly failure?: number
      readonly throttled: number
    })[]
    readonly tokensRefused: readonly ({
      readonly kind: string
      readonly reasons: { readonly [name: string]: number }
    })[]
    readonly requests: {
      readonly open: number
      readonly answered: { readonly [name: string]: number }
      readonly duration: Schemas['Duration']
      readonly routes: readonly ({
        readonly route: string
        readonly method: string
        readonly open: number
        readonly answered: { readonly [name: string]: number }
        readonly duration: Schemas['Duration']
      })[]
    }
    readonly downloadsOpen: number
    readonly listingsOpen: number
    readonly queues: readonly ({
      readonly queue: string
      readonly running: number
      readonly waiting: number
      readonly refused: number
      readonly waited: Schemas['Duration']
    })[]
    readonly connections: readonly ({
      readonly pool: string
      readonly max: number
      readonly waiting: number
    })[]
  }
  readonly Finding: {
    readonly level: 'ok' | 'note' | 'warning' | 'error'
    readonly about: string
    readonly what: string
    readonly advice?: (string | null)
    readonly code: string
    readonly values: { readonly [name: string]: (string | number | null | readonly (string)[]) }
  }
  readonly Group: {
    readonly id: string
    readonly uuid: string
    readonly name: string
    readonly permanent: boolean
    readonly special: boolean
    readonly metadata: Schemas['Metadata']
    readonly type: 'group'
    readonly _links: {
      readonly epersons: Schemas['Link']
      readonly object: Schemas['Link']
      readonly self: Schemas['Link']
      readonly subgroups: Schemas['Link']
    }
    readonly _embedded?: {
      readonly epersons?: Schemas['Embedded']
      readonly object?: Schemas['Embedded']
      readonly subgroups?: Schemas['Embedded']
    }
  }
  readonly GroupPage: {
    readonly _embedded: {
      readonly groups: readonly (Schemas['Group'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly Health: {
    readonly status: 'UP' | 'UP_WITH_ISSUES' | 'DOWN'
    readonly components: {
      readonly store: {
        readonly status: 'UP' | 'DOWN'
        readonly details: {
          readonly engine?: string
          readonly error?: string
        }
      }
      readonly files: {
        readonly status: 'UP' | 'DOWN'
        readonly details: {
          readonly engine?: string
          readonly error?: string
        }
      }
      readonly workers: {
        readonly status: 'UP' | 'UP_WITH_ISSUES'
        readonly details: {
          readonly running: number
          readonly wanted: number
          readonly replaced: number
        }
      }
    }
  }
  readonly Identifier: {
    readonly value: string
    readonly identifierType: 'handle'
    readonly identifierStatus: null
    readonly type: 'identifier'
  }
  readonly Identifiers: {
    readonly identifiers: readonly (Schemas['Identifier'])[]
    readonly type: 'identifiers'
    readonly _links: {
      readonly self: Schemas['Link']
    }
  }
  readonly ImportDifferences: {
    readonly counts: {
      readonly inserted: number
      readonly replaced: number
      readonly deleted: number
      readonly unchanged: number
    }
    readonly first: {
      readonly inserted: readonly ({
        readonly key: readonly (string)[]
      })[]
      readonly replaced: readonly ({
        readonly key: readonly (string)[]
        readonly fields: readonly ({
          readonly name: string
          readonly before: string
          readonly after: string
        })[]
      })[]
      readonly deleted: readonly ({
        readonly key: readonly (string)[]
      })[]
    }
    readonly fields: {
      readonly inserted: readonly ({
        readonly name: string
        readonly type: string
      })[]
      readonly retyped: readonly ({
        readonly name: string
        readonly before: string
        readonly after: string
      })[]
      readonly deleted: readonly (string)[]
    }
  }
  readonly ImportNote: {
    readonly kind: 'quotes-are-text' | 'rows-in-quotes' | 'short-rows' | 'rows-numbered' | 'no-time' | 'no-zone'
    readonly field: (string | null)
    readonly count: number
    readonly line: number
    readonly example?: string
    readonly message: string
  }
  readonly ImportPreview: {
    readonly entity: string
    readonly format: ('csv' | 'ndjson' | 'json' | null)
    readonly encoding: ('utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1250' | 'windows-1251' | 'windows-1252' | 'windows-1253' | 'windows-1254' | 'windows-1257' | 'iso-8859-2' | 'iso-8859-15' | 'macintosh' | null)
    readonly delimiter: (',' | ';' | '	' | '|' | null)
    readonly key: (string | readonly (string)[])
    readonly records: number
    readonly fields: readonly ({
      readonly name: string
      readonly type: 'integer' | 'number' | 'boolean' | 'date-time' | 'text' | 'json'
      readonly nullable: boolean
      readonly sortable?: false
      readonly collation?: string
      readonly list?: true
      readonly label?: string
      readonly help?: string
      readonly unit?: string
      readonly format?: 'link' | 'image' | 'e-mail' | 'year' | 'identifier' | 'paragraphs' | 'json'
      readonly required?: true
      readonly default?: (string | number | boolean)
      readonly unique?: true
      readonly oneOf?: readonly ((string | number | boolean))[]
      readonly references?: string
      readonly nulls?: number
      readonly mix?: {
        readonly line: number
        readonly kind: string
        readonly earlier: {
          readonly line: number
          readonly kind: string
        }
      }
      readonly looks?: 'decimal-comma' | 'decimal-point' | 'decimal-comma-or-point' | 'day-first'
      readonly digits?: {
        readonly line: number
        readonly text: string
        readonly earlier: {
          readonly line: number
          readonly text: string
        }
      }
      readonly from?: string
      readonly kinds?: readonly ({
        readonly kind: string
        readonly count: number
        readonly line: number
        readonly example: string
        readonly quoted?: {
          readonly count: number
          readonly line: number
          readonly example: string
        }
      })[]
      readonly texts?: readonly ({
        readonly text: string
        readonly count: number
        readonly line: number
      })[]
      readonly moreTexts?: number
      readonly offers?: readonly (Schemas['FieldRecipe'])[]
      readonly currency?: string
    })[]
    readonly sample: readonly ({ readonly [name: string]: Json })[]
    readonly changes?: {
      readonly inserted?: number
      readonly replaced?: number
      readonly deleted?: number
      readonly unchanged?: number
    }
    readonly loss?: {
      readonly records: {
        readonly before: number
        readonly after: number
        readonly gone: number
        readonly isEstimate: boolean
      }
      readonly fields: {
        readonly before: number
        readonly after: number
        readonly gone: readonly (string)[]
      }
      readonly needsReplace: boolean
    }
    readonly differences?: Schemas['ImportDifferences']
    readonly notes: readonly (Schemas['ImportNote'])[]
    readonly faults: readonly ({
      readonly line: (number | null)
      readonly field: (string | null)
      readonly message: string
      readonly alike?: {
        readonly count: number
        readonly lines: readonly (number)[]
      }
      readonly repair?: Schemas['Recipe']
    })[]
    readonly moreFaults: number
  }
  readonly Item: {
    readonly id: string
    readonly uuid: string
    readonly name: (string | null)
    readonly handle: string
    readonly metadata: Schemas['Metadata']
    readonly inArchive: boolean
    readonly discoverable: boolean
    readonly withdrawn: boolean
    readonly lastModified: string
    readonly entityType: (string | null)
    readonly type: 'item'
    readonly _links: {
      readonly accessStatus: Schemas['Link']
      readonly bundles: Schemas['Link']
      readonly identifiers: Schemas['Link']
      readonly mappedCollections: Schemas['Link']
      readonly owningCollection: Schemas['Link']
      readonly relationships: Schemas['Link']
      readonly templateItemOf: Schemas['Link']
      readonly thumbnail: Schemas['Link']
      readonly version: Schemas['Link']
      readonly self: Schemas['Link']
    }
    readonly _embedded?: {
      readonly accessStatus?: Schemas['Embedded']
      readonly bundles?: Schemas['Embedded']
      readonly identifiers?: Schemas['Embedded']
      readonly mappedCollections?: Schemas['Embedded']
      readonly owningCollection?: Schemas['Embedded']
      readonly relationships?: Schemas['Embedded']
      readonly templateItemOf?: Schemas['Embedded']
      readonly thumbnail?: Schemas['Embedded']
      readonly version?: Schemas['Embedded']
    }
  }
  readonly ItemPage: {
    readonly _embedded: {
      readonly items: readonly (Schemas['Item'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly JsonPatch: readonly ({
    readonly op: string
    readonly path: string
    readonly from?: string
    readonly value?: Json
  })[]
  readonly KeptVersion: {
    readonly id: number
    readonly replaced: string
    readonly replacedBy: 'entity.import' | 'entity.update' | 'entity.change' | 'entity.restore'
    readonly until: string
    readonly key: (string | readonly (string)[])
    readonly fields: number
    readonly records: number
    readonly bytes: number
    readonly _links: {
      readonly restore: Schemas['Link']
    }
  }
  readonly KeptVersionPage: {
    readonly _embedded: {
      readonly versions: readonly (Schemas['KeptVersion'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly KnownProblem: {
    readonly code: 'bad-request' | 'bad-parameter' | 'snapshot-expired' | 'bad-on-behalf-of' | 'reason-required' | 'redirect-not-allowed' | 'sign-on-not-begun' | 'logout-not-understood' | 'sign-on-refused' | 'account-refused' | 'provider-unavailable' | 'login-failed' | 'second-factor-required' | 'second-factor-enrolment-required' | 'logins-closed' | 'authentication-required' | 'csrf-cookie-missing' | 'csrf-header-missing' | 'csrf-mismatch' | 'csrf-not-ours' | 'origin-not-allowed' | 'short-lived-token-refused' | 'on-behalf-of-refused' | 'wrong-password' | 'proof-refused' | 'second-factor-missing' | 'access-denied' | 'not-found' | 'unknown-entity' | 'method-not-allowed' | 'not-acceptable' | 'request-timeout' | 'precondition-failed' | 'body-too-large' | 'unsupported-media-type' | 'range-not-satisfiable' | 'expectation-failed' | 'host-not-allowed' | 'mail-token-refused' | 'registration-refused' | 'patch-refused' | 'change-refused' | 'factor-refused' | 'access-token-refused' | 'access-token-invalid' | 'password-refused' | 'headers-too-large' | 'too-many-attempts' | 'internal-error' | 'busy' | 'query-timeout' | 'directory-unavailable' | 'store-unavailable' | 'files-unavailable' | 'files-full' | 'not-writable' | 'record-refused' | 'record-referenced' | 'upload-offset' | 'tus-version' | 'process-state' | 'upload-in-use' | 'no-room' | 'secret-set' | 'explanation-refused' | 'entity-conflict' | 'entity-refused'
    readonly type: string
    readonly status: number
    readonly title: string
    readonly help: string
  }
  readonly Link: {
    readonly href: string
  }
  readonly LinkedIdentity: {
    readonly eperson: string
    readonly email: string
    readonly provider: string
    readonly subject: string
    readonly linked: string
  }
  readonly LinkedIdentityPage: {
    readonly _embedded: {
      readonly identities: readonly (Schemas['LinkedIdentity'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly ListedEntity: {
    readonly name: string
    readonly source: 'imported' | 'exposed' | 'built-in'
    readonly description: (string | null)
    readonly read: string
    readonly write: (string | null)
    readonly key: (string | readonly (string)[])
    readonly fields: readonly ({
      readonly name: string
      readonly type: 'integer' | 'number' | 'boolean' | 'date-time' | 'text' | 'json'
      readonly nullable: boolean
      readonly sortable?: false
      readonly collation?: string
      readonly list?: true
      readonly label?: string
      readonly help?: string
      readonly unit?: string
      readonly format?: 'link' | 'image' | 'e-mail' | 'year' | 'identifier' | 'paragraphs' | 'json'
      readonly required?: true
      readonly default?: (string | number | boolean)
      readonly unique?: true
      readonly oneOf?: readonly ((string | number | boolean))[]
      readonly references?: string
    })[]
    readonly records: (number | null)
    readonly bytes: (number | null)
    readonly imported: (string | null)
    readonly table: ({
      readonly schema: string
      readonly name: string
    } | null)
    readonly relations: readonly (Schemas['Relation'])[]
    readonly related: readonly (Schemas['Relation'])[]
    readonly defaultCondition: Json
    readonly recipe?: Schemas['Recipe']
    readonly _links: {
      readonly self: Schemas['Link']
      readonly records: Schemas['Link']
      readonly import?: Schemas['Link']
      readonly versions?: Schemas['Link']
    }
  }
  readonly Login: {
    readonly user?: string
    readonly password?: string
    readonly ticket?: string
    readonly totp?: string
    readonly recovery?: string
    readonly webauthn?: string
    readonly link?: string
  }
  readonly Metadata: { readonly [name: string]: readonly (Schemas['MetadataValue'])[] }
  readonly MetadataField: {
    readonly id: number
    readonly element: string
    readonly qualifier: (string | null)
    readonly scopeNote: (string | null)
    readonly type: 'metadatafield'
    readonly _links: {
      readonly schema: Schemas['Link']
      readonly self: Schemas['Link']
    }
    readonly _embedded: {
      readonly schema: Schemas['MetadataSchema']
    }
  }
  readonly MetadataFieldPage: {
    readonly _embedded: {
      readonly metadatafields: readonly (Schemas['MetadataField'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly MetadataSchema: {
    readonly id: number
    readonly prefix: string
    readonly namespace: string
    readonly type: 'metadataschema'
    readonly _links: {
      readonly self: Schemas['Link']
    }
  }
  readonly MetadataSchemaPage: {
    readonly _embedded: {
      readonly metadataschemas: readonly (Schemas['MetadataSchema'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly MetadataValue: {
    readonly value: string
    readonly language: (string | null)
    readonly authority: (string | null)
    readonly confidence: number
    readonly place: number
  }
  readonly Misfits: {
    readonly misfits: readonly ({
      readonly field: string
      readonly constraint: 'required' | 'oneOf' | 'unique' | 'references'
      readonly count: number
      readonly examples: readonly (string)[]
    })[]
    readonly warnings?: readonly ({
      readonly member: string
      readonly detail: string
    })[]
  }
  readonly NewAccessToken: {
    readonly token: string
    readonly id: string
    readonly name: string
    readonly prefix: string
    readonly methods: readonly ('GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE')[]
    readonly parts: readonly ('query' | 'items' | 'people' | 'administration' | 'processes')[]
    readonly entities: (readonly (string)[] | null)
    readonly networks: readonly (string)[]
    readonly created: string
    readonly expires: string
    readonly lastUsed: (string | null)
    readonly type: 'accesstoken'
    readonly _links: {
      readonly self: Schemas['Link']
    }
  }
  readonly NewEperson: {
    readonly email: string
    readonly canLogIn?: (boolean | null)
    readonly requireCertificate?: (false | null)
    readonly netid?: null
    readonly metadata?: ({ readonly [name: string]: unknown } | null)
    readonly password?: (string | null)
  }
  readonly NewFactor: {
    readonly id: string
    readonly kind: 'totp' | 'passkey'
    readonly name: string
    readonly alone: boolean
    readonly created: string
    readonly lastUsed: (string | null)
    readonly type: 'factor'
    readonly _links: {
      readonly self: Schemas['Link']
    }
    readonly recoveryCodes?: readonly (string)[]
    readonly ticket?: string
  }
  readonly NewGroup: {
    readonly name: string
    readonly metadata?: ({ readonly [name: string]: unknown } | null)
  }
  readonly PageFacts: {
    readonly number: number
    readonly size: number
    readonly totalPages: number
    readonly totalElements: number
  }
  readonly PageLinks: {
    readonly first?: Schemas['Link']
    readonly prev?: Schemas['Link']
    readonly next?: Schemas['Link']
    readonly last?: Schemas['Link']
    readonly self: Schemas['Link']
  }
  readonly Problem: {
    readonly type: string
    readonly title: string
    readonly status: number
    readonly code: 'bad-request' | 'bad-parameter' | 'snapshot-expired' | 'bad-on-behalf-of' | 'reason-required' | 'redirect-not-allowed' | 'sign-on-not-begun' | 'logout-not-understood' | 'sign-on-refused' | 'account-refused' | 'provider-unavailable' | 'login-failed' | 'second-factor-required' | 'second-factor-enrolment-required' | 'logins-closed' | 'authentication-required' | 'csrf-cookie-missing' | 'csrf-header-missing' | 'csrf-mismatch' | 'csrf-not-ours' | 'origin-not-allowed' | 'short-lived-token-refused' | 'on-behalf-of-refused' | 'wrong-password' | 'proof-refused' | 'second-factor-missing' | 'access-denied' | 'not-found' | 'unknown-entity' | 'method-not-allowed' | 'not-acceptable' | 'request-timeout' | 'precondition-failed' | 'body-too-large' | 'unsupported-media-type' | 'range-not-satisfiable' | 'expectation-failed' | 'host-not-allowed' | 'mail-token-refused' | 'registration-refused' | 'patch-refused' | 'change-refused' | 'factor-refused' | 'access-token-refused' | 'access-token-invalid' | 'password-refused' | 'headers-too-large' | 'too-many-attempts' | 'internal-error' | 'busy' | 'query-timeout' | 'directory-unavailable' | 'store-unavailable' | 'files-unavailable' | 'files-full' | 'not-writable' | 'record-refused' | 'record-referenced' | 'upload-offset' | 'tus-version' | 'process-state' | 'upload-in-use' | 'no-room' | 'secret-set' | 'explanation-refused' | 'entity-conflict' | 'entity-refused'
    readonly detail: string
    readonly message: string
    readonly path: string
    readonly requestId: string
    readonly parameter?: string
    readonly value?: string
    readonly position?: number
    readonly line?: number
    readonly column?: number
    readonly pointer?: string
    readonly operation?: number
    readonly member?: string
    readonly marker?: string
    readonly mistake?: string
    readonly found?: string
    readonly expected?: readonly (string)[]
    readonly form?: string
    readonly legal?: (readonly ((string | boolean))[] | {
      readonly least?: number
      readonly most?: number
    })
    readonly most?: number
    readonly misfits?: readonly ({
      readonly field: string
      readonly constraint: 'required' | 'oneOf' | 'unique' | 'references'
      readonly count: number
      readonly examples: readonly (string)[]
    })[]
    readonly referenced?: {
      readonly entity: string
      readonly field: string
      readonly keys: readonly (string)[]
    }
    readonly nearest?: string
    readonly key?: string
    readonly keys?: readonly (string)[]
    readonly count?: number
    readonly process?: number
    readonly error?: string
    readonly factors?: readonly (string)[]
    readonly ticket?: string
    readonly begin?: string
    readonly back?: string
    readonly home?: string
  }
  readonly Process: {
    readonly processId: string
    readonly userId: (string | null)
    readonly creationTime: string
    readonly startTime: (string | null)
    readonly endTime: (string | null)
    readonly scriptName: string
    readonly processStatus: 'SCHEDULED' | 'RUNNING' | 'COMPLETED' | 'FAILED'
    readonly parameters: readonly (Schemas['ProcessParameter'])[]
    readonly state: 'scheduled' | 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted'
    readonly progress: (Schemas['Progress'] | null)
    readonly result: ({ readonly [name: string]: Json } | null)
    readonly fault: (string | null)
    readonly type: 'process'
    readonly _links: {
      readonly self: Schemas['Link']
      readonly script: Schemas['Link']
      readonly output: Schemas['Link']
      readonly files: Schemas['Link']
      readonly filetypes: Schemas['Link']
      readonly log: Schemas['Link']
      readonly events: Schemas['Link']
    }
    readonly _embedded?: {
      readonly script?: Schemas['Embedded']
      readonly output?: Schemas['Embedded']
      readonly files?: Schemas['Embedded']
      readonly filetypes?: Schemas['Embedded']
    }
  }
  readonly ProcessFileTypes: {
    readonly id: 'filetypes'
    readonly values: readonly (unknown)[]
    readonly type: 'filetypes'
    readonly _links: {
      readonly self: Schemas['Link']
    }
  }
  readonly ProcessOutput: {
    readonly id: string
    readonly uuid: string
    readonly name: string
    readonly handle: null
    readonly metadata: { readonly [name: string]: readonly ({ readonly [name: string]: unknown })[] }
    readonly bundleName: null
    readonly sizeBytes: number
    readonly type: 'bitstream'
    readonly _links: {
      readonly content: Schemas['Link']
      readonly self: Schemas['Link']
    }
  }
  readonly ProcessPage: {
    readonly _embedded: {
      readonly processes: readonly (Schemas['Process'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly ProcessParameter: {
    readonly name: string
    readonly value: string
  }
  readonly Progress: {
    readonly done: number
    readonly total?: number
    readonly unit: string
  }
  readonly Proved: {
    readonly proof: Schemas['FactorProof']
  }
  readonly PuppetService: {
    readonly service_version: string
    readonly service_status_version: 1
    readonly detail_level: string
    readonly state: 'running' | 'error'
    readonly status: {
      readonly 'maintenance_mode?': boolean
      readonly queue_depth: number
      readonly 'read_db_up?': boolean
      readonly 'write_db_up?': boolean
    }
    readonly active_alerts: readonly (unknown)[]
  }
  readonly QueryParameters: { readonly [name: string]: unknown }
  readonly Recipe: {
    readonly delimiter?: string
    readonly encoding?: string
    readonly quote?: 'double' | 'none'
    readonly shortRows?: boolean
    readonly decimalComma?: boolean
    readonly decimalPoint?: boolean
    readonly dayFirst?: boolean
    readonly empty?: readonly (string)[]
    readonly key?: (string | readonly (string)[])
    readonly fields?: { readonly [name: string]: Schemas['FieldRecipe'] }
  }
  readonly RecoveryCodes: {
    readonly recoveryCodes: readonly (string)[]
  }
  readonly Registration: {
    readonly email: string
    readonly user: (string | null)
    readonly registrationType: 'register' | 'forgot'
    readonly type: 'registration'
    readonly _links: {
      readonly self: Schemas['Link']
    }
  }
  readonly Relation: {
    readonly fields: readonly (string)[]
    readonly to: {
      readonly entity: string
      readonly fields: readonly (string)[]
    }
  }
  readonly RenamedFactor: {
    readonly name: string
    readonly proof: Schemas['FactorProof']
  }
  readonly Report: {
    readonly counts: { readonly [name: string]: number }
    readonly findings: readonly (Schemas['Finding'])[]
  }
  readonly ResourcePolicy: {
    readonly id: string
    readonly name: (string | null)
    readonly description: (string | null)
    readonly policyType: (string | null)
    readonly action: 'READ' | 'WRITE'
    readonly startDate: (string | null)
    readonly endDate: (string | null)
    readonly type: 'resourcepolicy'
    readonly _links: {
      readonly eperson: Schemas['Link']
      readonly group: Schemas['Link']
      readonly resource: Schemas['Link']
      readonly self: Schemas['Link']
    }
    readonly _embedded: {
      readonly group: (Schemas['Group'] | null)
      readonly eperson: (Schemas['Eperson'] | null)
      readonly resource?: Schemas['Embedded']
    }
  }
  readonly ResourcePolicyPage: {
    readonly _embedded: {
      readonly resourcepolicies: readonly (Schemas['ResourcePolicy'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly Right: {
    readonly may: boolean
    readonly because: (string | null)
  }
  readonly Root: {
    readonly type: 'root'
    readonly _links: ({
      readonly self: Schemas['Link']
      readonly authn: Schemas['Link']
      readonly query: Schemas['Link']
      readonly items: Schemas['Link']
      readonly csrf: Schemas['Link']
    } & { readonly [name: string]: (Schemas['Link'] | Schemas['TemplatedLink']) })
  }
  readonly Script: {
    readonly id: string
    readonly name: string
    readonly description: string
    readonly parameters: readonly (Schemas['ScriptParameter'])[]
    readonly type: 'script'
    readonly _links: {
      readonly self: Schemas['Link']
    }
  }
  readonly ScriptPage: {
    readonly _embedded: {
      readonly scripts: readonly (Schemas['Script'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly ScriptParameter: {
    readonly name: string
    readonly nameLong: string
    readonly description: string
    readonly type: 'integer' | 'string' | 'boolean'
    readonly mandatory: false
  }
  readonly Session: {
    readonly id: string
    readonly current: boolean
    readonly method: string
    readonly browser: (string | null)
    readonly begun: string
    readonly network: (string | null)
    readonly lastUsed: string
    readonly lastNetwork: (string | null)
    readonly expires: string
    readonly type: 'session'
    readonly _links: {
      readonly self: Schemas['Link']
    }
  }
  readonly SessionPage: {
    readonly _embedded: {
      readonly sessions: readonly (Schemas['Session'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly ShortLivedToken: {
    readonly token: string
    readonly type: 'shortlivedtoken'
    readonly _links: {
      readonly self: Schemas['Link']
    }
  }
  readonly SignOnProviders: {
    readonly providers: readonly ({
      readonly id: string
      readonly name: string
      readonly kind: 'saml' | 'oidc' | 'proxy' | 'ldap'
      readonly method: string
      readonly federation: boolean
    })[]
  }
  readonly SignOnQuestion: {
    readonly provider?: (string | null)
    readonly entityId?: (string | null)
    readonly attributes?: ({ readonly [name: string]: unknown } | null)
    readonly assertion?: (string | null)
  }
  readonly SignOnReport: {
    readonly configured: boolean
    readonly counts: { readonly [name: string]: number }
    readonly findings: readonly (Schemas['Finding'])[]
  }
  readonly Site: {
    readonly id: string
    readonly uuid: string
    readonly name: string
    readonly handle: null
    readonly metadata: Schemas['Metadata']
    readonly type: 'site'
    readonly _links: {
      readonly self: Schemas['Link']
    }
  }
  readonly SitePage: {
    readonly _embedded: {
      readonly sites: readonly (Schemas['Site'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly SpecialGroupPage: {
    readonly _embedded: {
      readonly specialGroups: readonly (Schemas['Group'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly SpecialGroupRules: {
    readonly rules: readonly (({
      readonly group: {
        readonly uuid: string
        readonly name: string
      }
      readonly sessions?: readonly ({
        readonly method: string
        readonly begun: string
        readonly lastUsed: string
        readonly lastNetwork: (string | null)
        readonly gives: 'yes' | 'perhaps'
      })[]
      readonly how: 'address'
      readonly ranges: readonly (string)[]
    } | {
      readonly group: {
        readonly uuid: string
        readonly name: string
      }
      readonly sessions?: readonly ({
        readonly method: string
        readonly begun: string
        readonly lastUsed: string
        readonly lastNetwork: (string | null)
        readonly gives: 'yes' | 'perhaps'
      })[]
      readonly how: 'method'
      readonly method: string
    } | {
      readonly group: {
        readonly uuid: string
        readonly name: string
      }
      readonly sessions?: readonly ({
        readonly method: string
        readonly begun: string
        readonly lastUsed: string
        readonly lastNetwork: (string | null)
        readonly gives: 'yes' | 'perhaps'
      })[]
      readonly how: 'attribute'
      readonly provider: string
      readonly method: string
      readonly attribute: string
      readonly value: string
    } | {
      readonly group: {
        readonly uuid: string
        readonly name: string
      }
      readonly sessions?: readonly ({
        readonly method: string
        readonly begun: string
        readonly lastUsed: string
        readonly lastNetwork: (string | null)
        readonly gives: 'yes' | 'perhaps'
      })[]
      readonly how: 'attribute'
      readonly provider: string
      readonly method: string
      readonly attribute: string
      readonly pattern: string
    }))[]
  }
  readonly Status: {
    readonly okay: true
    readonly authenticated: boolean
    readonly authenticationMethod: (string | null)
    readonly type: 'status'
    readonly _links: {
      readonly eperson?: Schemas['Link']
      readonly specialGroups: Schemas['Link']
      readonly self: Schemas['Link']
    }
    readonly _embedded: {
      readonly eperson?: Schemas['Eperson']
      readonly specialGroups: Schemas['SpecialGroupPage']
    }
  }
  readonly SuggestedRelation: {
    readonly entity: string
    readonly fields: readonly (string)[]
    readonly to: {
      readonly entity: string
      readonly fields: readonly (string)[]
    }
  }
  readonly TemplatedLink: {
    readonly href: string
    readonly templated: true
  }
  readonly Upload: {
    readonly id: string
    readonly name: (string | null)
    readonly size: number
    readonly offset: number
    readonly begun: string
    readonly expires: string
    readonly type: 'upload'
    readonly _links: {
      readonly self: Schemas['Link']
    }
  }
  readonly UploadPage: {
    readonly _embedded: {
      readonly uploads: readonly (Schemas['Upload'])[]
    }
    readonly page: Schemas['PageFacts']
    readonly _links: Schemas['PageLinks']
  }
  readonly WantedAccessToken: {
    readonly name: string
    readonly methods?: (readonly ('GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE')[] | null)
    readonly parts?: (readonly ('query' | 'items' | 'people' | 'administration' | 'processes')[] | null)
    readonly entities?: (readonly (string)[] | null)
    readonly networks?: (readonly (string)[] | null)
    readonly expires?: (string | null)
  }
  readonly WantedAlert: {
    readonly message: string
    readonly active?: (boolean | null)
    readonly allowSessions?: ('all' | 'current' | 'admin' | null)
    readonly countdownTo?: (string | null)
  }
  readonly WantedChallenge: {
    readonly ticket?: string
    readonly purpose?: 'proof'
  }
  readonly WantedEntity: {
    readonly name?: string
    readonly read?: string
    readonly write?: (string | null)
    readonly description?: (string | null)
    readonly relations?: (readonly ({
      readonly fields: readonly (string)[]
      readonly to: {
        readonly entity: string
        readonly fields: readonly (string)[]
      }
    })[] | null)
    readonly defaultCondition?: ((string | readonly (Json)[]) | null)
    readonly recipe?: (Schemas['Recipe'] | null)
    readonly key?: ((string | readonly (string)[]) | null)
    readonly fields?: (readonly ((string | {
      readonly name: string
      readonly type?: 'text' | 'integer' | 'number' | 'boolean' | 'date-time' | 'json'
      readonly collation?: string
      readonly list?: boolean
      readonly nullable?: unknown
      readonly sortable?: unknown
      readonly label?: (string | null)
      readonly help?: (string | null)
      readonly unit?: (string | null)
      readonly format?: ('link' | 'image' | 'e-mail' | 'year' | 'identifier' | 'paragraphs' | 'json' | null)
      readonly required?: (boolean | null)
      readonly default?: ((string | number | boolean) | null)
      readonly unique?: (boolean | null)
      readonly oneOf?: (readonly ((string | number | boolean))[] | null)
      readonly references?: (string | null)
    }))[] | null)
    readonly table?: ({
      readonly schema?: string
      readonly name: string
    } | null)
    readonly source?: unknown
    readonly records?: unknown
    readonly bytes?: unknown
    readonly imported?: unknown
    readonly related?: unknown
    readonly suggested?: unknown
    readonly _links?: unknown
  }
  readonly WantedFactor: {
    readonly kind: 'totp' | 'passkey'
    readonly name: string
    readonly alone?: boolean
    readonly proof?: Schemas['FactorProof']
    readonly ticket?: string
  }
  readonly WantedIdentity: {
    readonly subject: string
    readonly entityId?: (string | null)
  }
  readonly WantedItem: {
    readonly metadata?: { readonly [name: string]: unknown }
    readonly withdrawn?: boolean
    readonly discoverable?: boolean
  }
  readonly WantedMetadataField: {
    readonly element: string
    readonly qualifier?: (string | null)
    readonly scopeNote?: (string | null)
  }
  readonly WantedMetadataSchema: {
    readonly prefix: string
    readonly namespace: string
  }
  readonly WantedPolicy: {
    readonly name?: (string | null)
    readonly description?: (string | null)
    readonly policyType?: (string | null)
    readonly action?: ('READ' | 'WRITE' | null)
    readonly startDate?: (string | null)
    readonly endDate?: (string | null)
  }
  readonly 'records.bitstreams': {
    readonly uuid: string
    readonly item?: string
    readonly bundle?: string
    readonly name?: string
    readonly description?: (string | null)
    readonly mime_type?: string
    readonly size?: number
    readonly sha256?: string
    readonly readers?: unknown
    readonly created?: string
  }
  readonly 'records.items': {
    readonly uuid: string
    readonly identifier?: string
    readonly title?: (string | null)
    readonly authors?: unknown
    readonly issued?: (string | null)
    readonly type?: (string | null)
    readonly metadata?: unknown
    readonly collections?: unknown
    readonly readers?: unknown
    readonly created?: string
    readonly modified?: string
    readonly withdrawn?: boolean
    readonly discoverable?: boolean
  }
}

/** What each route takes and answers. */
export interface Routes {
  readonly get: {
    readonly '/': { answer: Schemas['Root'] }
    readonly '/actuator': { answer: {
  readonly type: 'actuator'
  readonly _links: {
    readonly self: Schemas['Link']
    readonly health: Schemas['Link']
    readonly info: Schemas['Link']
  }
} }
    readonly '/actuator/health': { answer: Schemas['Health'] }
    readonly '/actuator/info': { answer: {
  readonly app: {
    readonly name: string
    readonly version: string
    readonly address: string
  }
  readonly node: {
    readonly name: string
    readonly version: string
    readonly platform: string
    readonly arch: string
  }
  readonly store: {
    readonly engine: string
  }
} }
    readonly '/api': { answer: Schemas['Root'] }
    readonly '/api/admin/backups': { answer: {
  readonly configured: boolean
  readonly process: (number | null)
  readonly backups: readonly (Schemas['Backup'])[]
} }
    readonly '/api/admin/doctor': { answer: Schemas['Report'] }
    readonly '/api/admin/entities': { query: { readonly page?: number; readonly size?: number }; answer: Schemas['EntityPage'] }
    readonly '/api/admin/entities/{name}': { path: { readonly name: string }; answer: Schemas['Entity'] }
    readonly '/api/admin/entities/{name}/versions': { path: { readonly name: string }; query: { readonly page?: number; readonly size?: number }; answer: Schemas['KeptVersionPage'] }
    readonly '/api/admin/epersons/{uuid}/access': { path: { readonly uuid: string }; query: { readonly address?: string; readonly method?: string; readonly object?: string; readonly entity?: string; readonly key?: string }; answer: Schemas['Access'] }
    readonly '/api/admin/figures': { answer: Schemas['Figures'] }
    readonly '/api/admin/special-groups': { query: { readonly eperson?: string }; answer: Schemas['SpecialGroupRules'] }
    readonly '/api/admin/sso/check': { answer: Schemas['SignOnReport'] }
    readonly '/api/admin/sso/identities': { query: { readonly eperson?: string; readonly page?: number; readonly size?: number }; answer: Schemas['LinkedIdentityPage'] }
    readonly '/api/admin/sso/providers': { answer: Schemas['SignOnProviders'] }
    readonly '/api/admin/tables': { query: { readonly query?: string; readonly page?: number; readonly size?: number }; answer: Schemas['ExposableTablePage'] }
    readonly '/api/admin/tokens': { query: { readonly page?: number; readonly size?: number }; answer: Schemas['AccessTokensOfAllPage'] }
    readonly '/api/authn': { answer: {
  readonly type: 'authn'
  readonly _links: {
    readonly login: Schemas['Link']
    readonly logout: Schemas['Link']
    readonly status: Schemas['Link']
    readonly shortlivedtokens: Schemas['Link']
    readonly sessions: Schemas['Link']
    readonly tokens: Schemas['Link']
    readonly self: Schemas['Link']
  }
} }
    readonly '/api/authn/factors': { query: { readonly page?: number; readonly size?: number }; answer: Schemas['FactorPage'] }
    readonly '/api/authn/factors/{id}': { path: { readonly id: string }; answer: Schemas['Factor'] }
    readonly '/api/authn/oidc': { query: { readonly redirectUrl?: string; readonly provider?: string; readonly entityID?: string; readonly search?: string; readonly page?: string; readonly force?: string; readonly ask?: string; readonly returned?: string }; answer: string }
    readonly '/api/authn/sessions': { query: { readonly page?: number; readonly size?: number }; answer: Schemas['SessionPage'] }
    readonly '/api/authn/sessions/{id}': { path: { readonly id: string }; answer: Schemas['Session'] }
    readonly '/api/authn/shibboleth': { query: { readonly redirectUrl?: string; readonly provider?: string; readonly entityID?: string; readonly search?: string; readonly page?: string; readonly force?: string; readonly ask?: string; readonly returned?: string }; answer: string }
    readonly '/api/authn/sso/logout': { answer: unknown }
    readonly '/api/authn/sso/logout/done': { answer: unknown }
    readonly '/api/authn/sso/oidc/callback/company': { query: { readonly state?: string; readonly code?: string; readonly iss?: string; readonly error?: string }; answer: unknown }
    readonly '/api/authn/sso/saml/acs': { answer: never }
    readonly '/api/authn/sso/saml/logout': { query: { readonly SAMLRequest?: string; readonly SAMLResponse?: string; readonly RelayState?: string; readonly SigAlg?: string; readonly Signature?: string }; answer: string }
    readonly '/api/authn/sso/saml/metadata': { answer: string }
    readonly '/api/authn/status': { answer: Schemas['Status'] }
    readonly '/api/authn/status/specialGroups': { query: { readonly page?: number; readonly size?: number }; answer: Schemas['SpecialGroupPage'] }
    readonly '/api/authn/tokens': { query: { readonly page?: number; readonly size?: number }; answer: Schemas['AccessTokenPage'] }
    readonly '/api/authn/tokens/{id}': { path: { readonly id: string }; answer: Schemas['AccessToken'] }
    readonly '/api/authz/authorizations': { query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _links: {
    readonly search: Schemas['Link']
    readonly self: Schemas['Link']
  }
} }
    readonly '/api/authz/authorizations/search': { query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _links: {
    readonly object: Schemas['Link']
    readonly objects: Schemas['Link']
    readonly self: Schemas['Link']
  }
} }
    readonly '/api/authz/authorizations/search/object': { query: { readonly uri: string; readonly feature?: string; readonly eperson?: string; readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['AuthorizationPage'] }
    readonly '/api/authz/authorizations/search/objects': { query: { readonly uri?: readonly (string)[]; readonly uuid?: readonly (string)[]; readonly type?: string; readonly feature?: readonly (string)[]; readonly eperson?: string; readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['AuthorizationPage'] }
    readonly '/api/authz/authorizations/{id}': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Authorization'] }
    readonly '/api/authz/features': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['FeaturePage'] }
    readonly '/api/authz/features/{id}': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Feature'] }
    readonly '/api/authz/resourcepolicies/search/eperson': { query: { readonly uuid: string; readonly resource?: string; readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['ResourcePolicyPage'] }
    readonly '/api/authz/resourcepolicies/search/group': { query: { readonly uuid: string; readonly resource?: string; readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['ResourcePolicyPage'] }
    readonly '/api/authz/resourcepolicies/search/resource': { query: { readonly uuid: string; readonly action?: 'READ' | 'WRITE'; readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['ResourcePolicyPage'] }
    readonly '/api/authz/resourcepolicies/{id}': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['ResourcePolicy'] }
    readonly '/api/authz/resourcepolicies/{id}/eperson': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Eperson'] | undefined }
    readonly '/api/authz/resourcepolicies/{id}/group': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Group'] | undefined }
    readonly '/api/authz/resourcepolicies/{id}/resource': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: unknown }
    readonly '/api/config/bulkaccessconditionoptions': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly bulkaccessconditionoptions: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/config/bulkaccessconditionoptions/default': { query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly id: 'default'
  readonly itemAccessConditionOptions: readonly (unknown)[]
  readonly bitstreamAccessConditionOptions: readonly (unknown)[]
  readonly type: 'bulkaccessconditionoption'
  readonly _links: {
    readonly self: Schemas['Link']
  }
} }
    readonly '/api/config/correctiontypes': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly correctiontypes: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/config/correctiontypes/search/findByItem': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly correctiontypes: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/config/correctiontypes/search/findByTopic': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly correctiontypes: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/config/itemfilters': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly itemfilters: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/config/properties': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly properties: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/config/submissionaccessoptions': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly submissionaccessoptions: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/config/submissioncclicenses': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly submissioncclicenses: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/config/submissioncoarnotifyconfigs': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly submissioncoarnotifyconfigs: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/config/submissiondefinitions': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly submissiondefinitions: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/config/submissionforms': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly submissionforms: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/config/submissionuploads': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly submissionuploads: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/config/workflowactions': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly workflowactions: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/bitstreamformats': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['BitstreamFormatPage'] }
    readonly '/api/core/bitstreamformats/{id}': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['BitstreamFormat'] }
    readonly '/api/core/bitstreams': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['BitstreamPage'] }
    readonly '/api/core/bitstreams/{uuid}': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Bitstream'] }
    readonly '/api/core/bitstreams/{uuid}/accessStatus': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['AccessStatus'] }
    readonly '/api/core/bitstreams/{uuid}/bundle': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Bundle'] }
    readonly '/api/core/bitstreams/{uuid}/content': { path: { readonly uuid: string }; answer: string }
    readonly '/api/core/bitstreams/{uuid}/format': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['BitstreamFormat'] }
    readonly '/api/core/bitstreams/{uuid}/thumbnail': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Bitstream'] | undefined }
    readonly '/api/core/bundles/{uuid}': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Bundle'] }
    readonly '/api/core/bundles/{uuid}/bitstreams': { path: { readonly uuid: string }; query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['BitstreamPage'] }
    readonly '/api/core/bundles/{uuid}/item': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Item'] }
    readonly '/api/core/bundles/{uuid}/primaryBitstream': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Bitstream'] | undefined }
    readonly '/api/core/collections': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly collections: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/collections/search/findAdminAuthorized': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly collections: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/collections/search/findEditAuthorized': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly collections: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/collections/search/findSubmitAuthorized': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly collections: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/collections/search/findSubmitAuthorizedByCommunity': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly collections: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/collections/search/findSubmitAuthorizedByCommunityAndEntityType': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly collections: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/collections/search/findSubmitAuthorizedByEntityType': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly collections: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/communities': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly communities: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/communities/search/findAddAuthorized': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly communities: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/communities/search/findAdminAuthorized': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly communities: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/communities/search/findEditAuthorized': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly communities: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/communities/search/top': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly communities: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/edititems': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly edititems: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/edititems/search/findModesById': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly edititemmodes: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/entitytypes': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly entitytypes: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/entitytypes/search/findAllByAuthorizedCollection': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly entitytypes: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/entitytypes/search/findAllByAuthorizedExternalSource': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly entitytypes: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/items': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['ItemPage'] }
    readonly '/api/core/items/{uuid}': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Item'] }
    readonly '/api/core/items/{uuid}/accessStatus': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['AccessStatus'] }
    readonly '/api/core/items/{uuid}/bundles': { path: { readonly uuid: string }; query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['BundlePage'] }
    readonly '/api/core/items/{uuid}/identifiers': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Identifiers'] }
    readonly '/api/core/items/{uuid}/mappedCollections': { path: { readonly uuid: string }; query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly mappedCollections: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/items/{uuid}/owningCollection': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: undefined }
    readonly '/api/core/items/{uuid}/relationships': { path: { readonly uuid: string }; query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly relationships: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/items/{uuid}/templateItemOf': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: undefined }
    readonly '/api/core/items/{uuid}/thumbnail': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Bitstream'] | undefined }
    readonly '/api/core/items/{uuid}/version': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: undefined }
    readonly '/api/core/metadatafields': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['MetadataFieldPage'] }
    readonly '/api/core/metadatafields/search/byFieldName': { query: { readonly schema?: string; readonly element?: string; readonly qualifier?: string; readonly query?: string; readonly exactName?: string; readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['MetadataFieldPage'] }
    readonly '/api/core/metadatafields/search/bySchema': { query: { readonly schema?: string; readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['MetadataFieldPage'] }
    readonly '/api/core/metadatafields/{id}': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['MetadataField'] }
    readonly '/api/core/metadatafields/{id}/schema': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['MetadataSchema'] }
    readonly '/api/core/metadataschemas': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['MetadataSchemaPage'] }
    readonly '/api/core/metadataschemas/{id}': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['MetadataSchema'] }
    readonly '/api/core/relationships': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly relationships: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/relationships/search/byLabel': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly relationships: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/relationshiptypes': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly relationshiptypes: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/securitysettings': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly securitysettings: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/securitysettings/{type}': { path: { readonly type: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly id: string
  readonly metadataSecurityDefault: readonly (unknown)[]
  readonly metadataCustomSecurity: Readonly<Record<string, unknown>>
  readonly type: 'securitysetting'
  readonly _links: {
    readonly self: Schemas['Link']
  }
} }
    readonly '/api/core/sites': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['SitePage'] }
    readonly '/api/core/sites/{uuid}': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Site'] }
    readonly '/api/core/subscriptions': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly subscriptions: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/subscriptions/search/findByEPerson': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly subscriptions: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/subscriptions/search/findByEPersonAndDso': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly subscriptions: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/supervisionorders': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly supervisionorders: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/supervisionorders/search/byItem': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly supervisionorders: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/core/supervisionorders/search/group': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly supervisionorders: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/discover': { query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly type: 'discover'
  readonly _links: {
    readonly browses: Schemas['Link']
    readonly facets: Schemas['Link']
    readonly search: Schemas['Link']
    readonly self: Schemas['Link']
  }
} }
    readonly '/api/discover/browses': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly browses: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/discover/browses/search/byFields': { query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: undefined }
    readonly '/api/discover/facets': { query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly type: 'discover'
  readonly _embedded: {
    readonly facets: readonly (unknown)[]
  }
  readonly _links: {
    readonly self: Schemas['Link']
  }
} }
    readonly '/api/discover/search': { query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly type: 'discover'
  readonly filters: readonly (unknown)[]
  readonly sortOptions: readonly ({
    readonly name: string
    readonly actualName: string
    readonly sortOrder: string
  })[]
  readonly _links: {
    readonly objects: Schemas['Link']
    readonly self: Schemas['Link']
  }
} }
    readonly '/api/discover/search/objects': { query: { readonly query?: string; readonly scope?: string; readonly configuration?: string; readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly id: null
  readonly query: (string | null)
  readonly scope: (string | null)
  readonly configuration: string
  readonly appliedFilters: null
  readonly sort: null
  readonly type: 'discover'
  readonly _links: {
    readonly self: Schemas['Link']
  }
  readonly _embedded: {
    readonly searchResult: {
      readonly _embedded: {
        readonly objects: readonly (unknown)[]
      }
      readonly page: Schemas['PageFacts']
      readonly _links: Schemas['PageLinks']
    }
    readonly facets: readonly (unknown)[]
  }
} }
    readonly '/api/docs': { answer: string }
    readonly '/api/docs/{file}': { path: { readonly file: string }; answer: string }
    readonly '/api/dso/find': { query: { readonly uuid: string; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: (Schemas['Item'] | Schemas['Bitstream'] | Schemas['Eperson'] | Schemas['Group']) }
    readonly '/api/eperson/epersons': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['EpersonPage'] }
    readonly '/api/eperson/epersons/search/byEmail': { query: { readonly email?: string; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Eperson'] | undefined }
    readonly '/api/eperson/epersons/search/byMetadata': { query: { readonly query?: string; readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['EpersonPage'] }
    readonly '/api/eperson/epersons/search/isMemberOf': { query: { readonly group: string; readonly query?: string; readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['EpersonPage'] }
    readonly '/api/eperson/epersons/search/isNotMemberOf': { query: { readonly group: string; readonly query?: string; readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['EpersonPage'] }
    readonly '/api/eperson/epersons/{uuid}': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Eperson'] }
    readonly '/api/eperson/epersons/{uuid}/factors': { path: { readonly uuid: string }; query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['FactorPage'] }
    readonly '/api/eperson/epersons/{uuid}/groups': { path: { readonly uuid: string }; query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['GroupPage'] }
    readonly '/api/eperson/epersons/{uuid}/tokens': { path: { readonly uuid: string }; query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['AccessTokenPage'] }
    readonly '/api/eperson/groups': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['GroupPage'] }
    readonly '/api/eperson/groups/search/byMetadata': { query: { readonly query?: string; readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['GroupPage'] }
    readonly '/api/eperson/groups/search/isNotMemberOf': { query: { readonly group: string; readonly query?: string; readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['GroupPage'] }
    readonly '/api/eperson/groups/{uuid}': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Group'] }
    readonly '/api/eperson/groups/{uuid}/epersons': { path: { readonly uuid: string }; query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['EpersonPage'] }
    readonly '/api/eperson/groups/{uuid}/object': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: undefined }
    readonly '/api/eperson/groups/{uuid}/subgroups': { path: { readonly uuid: string }; query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['GroupPage'] }
    readonly '/api/eperson/orcidhistories': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly orcidhistories: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/eperson/orcidqueues': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly orcidqueues: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/eperson/orcidqueues/search/findByProfileItem': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly orcidqueues: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/eperson/profiles': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly profiles: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/eperson/registrations': { query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly type: 'registrations'
  readonly _links: {
    readonly self: Schemas['Link']
    readonly findByToken: Schemas['Link']
  }
} }
    readonly '/api/eperson/registrations/search/findByToken': { query: { readonly token: string; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Registration'] }
    readonly '/api/integration/externalsources': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly externalsources: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/integration/externalsources/search/findByEntityType': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly externalsources: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/integration/qualityassuranceevents': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly qualityassuranceevents: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/integration/qualityassuranceevents/search/findByTopic': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly qualityassuranceevents: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/integration/qualityassurancesources': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly qualityassurancesources: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/integration/qualityassurancesources/search/byTarget': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly qualityassurancesources: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/integration/qualityassurancetopics': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly qualityassurancetopics: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/integration/qualityassurancetopics/search/bySource': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly qualityassurancetopics: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/integration/qualityassurancetopics/search/byTarget': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly qualityassurancetopics: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/integration/suggestions': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly suggestions: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/integration/suggestionsources': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly suggestionsources: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/integration/suggestiontargets': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly suggestiontargets: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/ldn/ldnservices': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly ldnservices: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/ldn/messages': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly messages: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/ldn/notifyrequests': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly notifyrequests: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/ldn/notifyrequests/{uuid}': { path: { readonly uuid: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly itemuuid: string
  readonly notifyStatus: readonly (unknown)[]
  readonly type: 'notifyrequests'
  readonly _links: {
    readonly self: Schemas['Link']
  }
} }
    readonly '/api/meta/v1/server-time': { answer: {
  readonly server_time: string
} }
    readonly '/api/meta/v1/version': { answer: {
  readonly version: string
  readonly product: string
  readonly product_version: string
} }
    readonly '/api/meta/v1/version/latest': { answer: {
  readonly newer: false
  readonly version: string
  readonly product: string
} }
    readonly '/api/openapi.json': { answer: {
  readonly openapi: string
  readonly info: Readonly<Record<string, unknown>>
  readonly paths: Readonly<Record<string, unknown>>
  readonly components: Readonly<Record<string, unknown>>
} }
    readonly '/api/pid/find': { query: { readonly id: string; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Item'] }
    readonly '/api/problems': { answer: readonly (Schemas['KnownProblem'])[] }
    readonly '/api/problems/{code}': { path: { readonly code: string }; answer: string }
    readonly '/api/query/v4': { query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string; readonly ast_only?: boolean }; answer: ((readonly (Schemas['EntityDescription'])[] | readonly (Schemas['EntityRecord'])[] | readonly (Json)[]) | Schemas['Explanation']) }
    readonly '/api/query/v4/aggregate-event-counts': { query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string; readonly summarize_by?: string; readonly count_by?: string; readonly counts_filter?: string }; answer: readonly ({
  readonly summarize_by: string
  readonly failures: number
  readonly successes: number
  readonly noops: number
  readonly skips: number
  readonly total: number
})[] }
    readonly '/api/query/v4/aggregate_event_counts': { query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string; readonly summarize_by?: string; readonly count_by?: string; readonly counts_filter?: string }; answer: readonly ({
  readonly summarize_by: string
  readonly failures: number
  readonly successes: number
  readonly noops: number
  readonly skips: number
  readonly total: number
})[] }
    readonly '/api/query/v4/event-counts': { query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string; readonly summarize_by?: string; readonly count_by?: string; readonly counts_filter?: string }; answer: readonly ({
  readonly subject_type: string
  readonly subject: {
    readonly title: (string | null)
  }
  readonly failures: number
  readonly successes: number
  readonly noops: number
  readonly skips: number
})[] }
    readonly '/api/query/v4/event_counts': { query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string; readonly summarize_by?: string; readonly count_by?: string; readonly counts_filter?: string }; answer: readonly ({
  readonly subject_type: string
  readonly subject: {
    readonly title: (string | null)
  }
  readonly failures: number
  readonly successes: number
  readonly noops: number
  readonly skips: number
})[] }
    readonly '/api/query/v4/fact-names': { query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string }; answer: (readonly ((string | null))[] | Schemas['Explanation']) }
    readonly '/api/query/v4/fact_names': { query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string }; answer: (readonly ((string | null))[] | Schemas['Explanation']) }
    readonly '/api/query/v4/{entity}': { path: { readonly entity: string }; query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string }; answer: (readonly (Schemas['EntityRecord'])[] | Schemas['Explanation']) }
    readonly '/api/query/v4/{entity}/changes': { path: { readonly entity: string }; query: { readonly since?: string }; answer: string }
    readonly '/api/query/v4/{entity}/{key}': { path: { readonly entity: string; readonly key: string }; query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string; readonly history?: boolean; readonly before?: number }; answer: (Schemas['EntityRecord'] | readonly (Schemas['EntityRecord'])[] | Schemas['Explanation']) }
    readonly '/api/query/v4/{entity}/{key}/{related}': { path: { readonly entity: string; readonly key: string; readonly related: string }; query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string }; answer: (readonly (Schemas['EntityRecord'])[] | Schemas['Explanation']) }
    readonly '/api/query/v4/{entity}/{key}/{related}/{value}': { path: { readonly entity: string; readonly key: string; readonly related: string; readonly value: string }; query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string }; answer: (readonly (Schemas['EntityRecord'])[] | Schemas['Explanation']) }
    readonly '/api/security/csrf': { answer: undefined }
    readonly '/api/statistics': { query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly type: 'statistics'
  readonly _links: {
    readonly searchevents: Schemas['Link']
    readonly usagereports: Schemas['Link']
    readonly viewevents: Schemas['Link']
    readonly self: Schemas['Link']
  }
} }
    readonly '/api/statistics/usagereports': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly usagereports: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/statistics/usagereports/search/object': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly usagereports: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/submission/duplicates': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly duplicates: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/submission/duplicates/search/findByItem': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly duplicates: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/submission/vocabularies': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly vocabularies: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/submission/vocabularies/search/byMetadataAndCollection': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly vocabularies: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/submission/vocabularyEntryDetails': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly vocabularyEntryDetails: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/submission/workspaceitems': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly workspaceitems: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/submission/workspaceitems/search/item': { query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: never }
    readonly '/api/submission/workspaceitems/{id}': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: never }
    readonly '/api/system/auditevents': { query: { readonly sort?: string; readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['AuditEventPage'] }
    readonly '/api/system/auditevents/search/findByObject': { query: { readonly object?: string; readonly sort?: string; readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['AuditEventPage'] }
    readonly '/api/system/auditevents/{id}': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['AuditEvent'] }
    readonly '/api/system/auditevents/{id}/eperson': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Eperson'] | undefined }
    readonly '/api/system/auditevents/{id}/object': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: undefined }
    readonly '/api/system/auditevents/{id}/subject': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: undefined }
    readonly '/api/system/processes': { query: { readonly sort?: string; readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['ProcessPage'] }
    readonly '/api/system/processes/search/byProperty': { query: { readonly processStatus?: 'SCHEDULED' | 'RUNNING' | 'COMPLETED' | 'FAILED'; readonly scriptName?: string; readonly userId?: string; readonly sort?: string; readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['ProcessPage'] }
    readonly '/api/system/processes/search/own': { query: { readonly sort?: string; readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['ProcessPage'] }
    readonly '/api/system/processes/{id}': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Process'] }
    readonly '/api/system/processes/{id}/events': { path: { readonly id: string }; answer: string }
    readonly '/api/system/processes/{id}/files': { path: { readonly id: string }; query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly bitstreams: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/system/processes/{id}/filetypes': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['ProcessFileTypes'] }
    readonly '/api/system/processes/{id}/log': { path: { readonly id: string }; answer: string }
    readonly '/api/system/processes/{id}/output': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['ProcessOutput'] | undefined }
    readonly '/api/system/scripts': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['ScriptPage'] }
    readonly '/api/system/scripts/{name}': { path: { readonly name: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Script'] }
    readonly '/api/system/systemwidealerts': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['AlertPage'] }
    readonly '/api/system/systemwidealerts/search/active': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['AlertPage'] }
    readonly '/api/system/systemwidealerts/{id}': { path: { readonly id: string }; query: { readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: Schemas['Alert'] }
    readonly '/api/tools/itemrequests': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly itemrequests: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/uploads': { query: { readonly page?: number; readonly size?: number }; answer: Schemas['UploadPage'] }
    readonly '/api/versioning/versionhistories': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly versionhistories: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/versioning/versions': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly versions: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/workflow/claimedtasks': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly claimedtasks: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/workflow/claimedtasks/search/findByUser': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly claimedtasks: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/workflow/pooltasks': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly pooltasks: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/workflow/pooltasks/search/findByUser': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly pooltasks: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/api/workflow/workflowitems': { query: { readonly page?: number; readonly size?: number; readonly embed?: readonly (string)[]; readonly 'embed.size'?: readonly (string)[] }; answer: {
  readonly _embedded: {
    readonly workflowitems: readonly (unknown)[]
  }
  readonly page: Schemas['PageFacts']
  readonly _links: Schemas['PageLinks']
} }
    readonly '/console': { answer: string }
    readonly '/console/assets/{name}': { path: { readonly name: string }; answer: string }
    readonly '/console/client/{name}': { path: { readonly name: string }; answer: string }
    readonly '/console/logo': { answer: string }
    readonly '/console/{page}': { path: { readonly page: string }; answer: string }
    readonly '/health/live': { answer: {
  readonly status: 'live'
} }
    readonly '/health/ready': { answer: {
  readonly status: 'ready'
  readonly files?: 'unavailable'
  readonly workers?: {
    readonly running: number
    readonly wanted: number
  }
} }
    readonly '/metrics': { answer: string }
    readonly '/metrics/v2': { answer: {
  readonly request: {
    readonly type: 'version'
  }
  readonly value: {
    readonly agent: string
    readonly protocol: string
    readonly info: {
      readonly product: string
      readonly version: string
    }
  }
  readonly timestamp: number
  readonly status: 200
} }
    readonly '/metrics/v2/list': { answer: {
  readonly request: {
    readonly type: 'list'
  }
  readonly value: { readonly [name: string]: { readonly [name: string]: {
    readonly attr: {
      readonly Value: {
        readonly rw: false
      }
    }
  } } }
  readonly timestamp: number
  readonly status: 200
} }
    readonly '/metrics/v2/read/{name}': { path: { readonly name: string }; answer: ({
  readonly request: {
    readonly mbean: string
    readonly type: 'read'
  }
  readonly value: {
    readonly Value: number
  }
  readonly timestamp: number
  readonly status: 200
} | {
  readonly request: {
    readonly mbean: string
    readonly type: 'read'
  }
  readonly error_type: string
  readonly error: string
  readonly status: 404
}) }
    readonly '/signposting/links/{uuid}': { path: { readonly uuid: string }; answer: readonly ((unknown | null))[] }
    readonly '/status/v1/services': { answer: {
  readonly 'puppetdb-status': Schemas['PuppetService']
} }
    readonly '/status/v1/services/puppetdb-status': { answer: Schemas['PuppetService'] }
    readonly '/status/v1/simple': { answer: string }
    readonly '/status/v1/simple/puppetdb-status': { answer: string }
    readonly '/api/query/v4/bitstreams': { query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly explain?: string }; answer: (readonly (Schemas['records.bitstreams'])[] | readonly (Schemas['EntityRecord'])[] | Schemas['Explanation']) }
    readonly '/api/query/v4/bitstreams/{key}': { path: { readonly key: string }; answer: Schemas['records.bitstreams'] }
    readonly '/api/query/v4/items': { query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly explain?: string }; answer: (readonly (Schemas['records.items'])[] | readonly (Schemas['EntityRecord'])[] | Schemas['Explanation']) }
    readonly '/api/query/v4/items/{key}': { path: { readonly key: string }; answer: Schemas['records.items'] }
  }
  readonly post: {
    readonly '/api/admin/entities/{name}/fields': { path: { readonly name: string }; query: { readonly preview?: boolean }; json: Schemas['FieldsChange']; answer: Schemas['Process'] }
    readonly '/api/admin/entities/{name}/import': { path: { readonly name: string }; query: { readonly mode?: 'replace' | 'update' | 'delete'; readonly preview?: boolean; readonly format?: 'csv' | 'ndjson' | 'json'; readonly upload?: string; readonly read?: string; readonly replace?: boolean; readonly key?: readonly (string)[]; readonly type?: readonly (string)[]; readonly collation?: readonly (string)[]; readonly delimiter?: string; readonly quote?: 'double' | 'none'; readonly 'short-rows'?: boolean; readonly encoding?: 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1250' | 'windows-1251' | 'windows-1252' | 'windows-1253' | 'windows-1254' | 'windows-1257' | 'iso-8859-2' | 'iso-8859-15' | 'macintosh'; readonly 'decimal-comma'?: boolean; readonly 'decimal-point'?: boolean; readonly recipe?: string; readonly 'day-first'?: boolean }; json: string; answer: Schemas['ImportPreview'] | Schemas['Process'] }
    readonly '/api/admin/entities/{name}/versions/{version}/restore': { path: { readonly name: string; readonly version: number }; answer: undefined }
    readonly '/api/admin/ingest': { query: { readonly upload?: string; readonly read?: string; readonly from?: string; readonly until?: string; readonly addOnly?: boolean; readonly dryRun?: boolean; readonly name?: string }; answer: Schemas['Process'] }
    readonly '/api/admin/secret/rotate': { answer: {
  readonly accepted: number
} }
    readonly '/api/admin/sso/explain': { json: Schemas['SignOnQuestion']; answer: Schemas['ExplainedSignOn'] }
    readonly '/api/authn/challenges': { json: Schemas['WantedChallenge']; answer: Schemas['Challenge'] }
    readonly '/api/authn/factors': { json: Schemas['EnrolledFactor']; answer: Schemas['NewFactor'] }
    readonly '/api/authn/factors/enrolments': { json: Schemas['WantedFactor']; answer: Schemas['FactorEnrolment'] }
    readonly '/api/authn/factors/recovery-codes': { json: Schemas['Proved']; answer: Schemas['RecoveryCodes'] }
    readonly '/api/authn/factors/{id}/removal': { path: { readonly id: string }; json: Schemas['Proved']; answer: undefined }
    readonly '/api/authn/login': { answer: undefined }
    readonly '/api/authn/logout': { answer: undefined }
    readonly '/api/authn/shortlivedtokens': { answer: Schemas['ShortLivedToken'] }
    readonly '/api/authn/sso/oidc/logout/company': { answer: undefined }
    readonly '/api/authn/sso/saml/acs': { answer: unknown }
    readonly '/api/authn/sso/saml/logout': { answer: string }
    readonly '/api/authn/tokens': { json: Schemas['WantedAccessToken']; answer: Schemas['NewAccessToken'] }
    readonly '/api/authz/resourcepolicies': { query: { readonly resource: string; readonly group?: string; readonly eperson?: string }; json: Schemas['WantedPolicy']; answer: Schemas['ResourcePolicy'] }
    readonly '/api/core/bundles/{uuid}/bitstreams': { path: { readonly uuid: string }; query: { readonly upload?: string }; json: {
  readonly name?: string
  readonly metadata?: { readonly [name: string]: unknown }
}; answer: Schemas['Bitstream'] }
    readonly '/api/core/bundles/{uuid}/primaryBitstream': { path: { readonly uuid: string }; answer: Schemas['Bundle'] }
    readonly '/api/core/collections': { answer: never }
    readonly '/api/core/communities': { answer: never }
    readonly '/api/core/items': { json: Schemas['WantedItem']; answer: Schemas['Item'] }
    readonly '/api/core/items/{uuid}/bundles': { path: { readonly uuid: string }; json: {
  readonly name: string
  readonly metadata?: ({ readonly [name: string]: unknown } | null)
}; answer: Schemas['Bundle'] }
    readonly '/api/core/items/{uuid}/mappedCollections': { path: { readonly uuid: string }; answer: never }
    readonly '/api/core/metadatafields': { query: { readonly schemaId: number }; json: Schemas['WantedMetadataField']; answer: Schemas['MetadataField'] }
    readonly '/api/core/metadataschemas': { json: Schemas['WantedMetadataSchema']; answer: Schemas['MetadataSchema'] }
    readonly '/api/eperson/epersons': { query: { readonly token?: string }; json: Schemas['NewEperson']; answer: Schemas['Eperson'] }
    readonly '/api/eperson/epersons/{uuid}/factors/reset': { path: { readonly uuid: string }; json: Schemas['Proved']; answer: undefined }
    readonly '/api/eperson/groups': { json: Schemas['NewGroup']; answer: Schemas['Group'] }
    readonly '/api/eperson/groups/{uuid}/epersons': { path: { readonly uuid: string }; answer: undefined }
    readonly '/api/eperson/groups/{uuid}/subgroups': { path: { readonly uuid: string }; answer: undefined }
    readonly '/api/eperson/registrations': { query: { readonly accountRequestType?: 'register' | 'forgot' }; json: {
  readonly email: string
}; answer: undefined }
    readonly '/api/query/v4': { query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string; readonly ast_only?: boolean }; json: Schemas['QueryParameters']; answer: ((readonly (Schemas['EntityDescription'])[] | readonly (Schemas['EntityRecord'])[] | readonly (Json)[]) | Schemas['Explanation']) }
    readonly '/api/query/v4/aggregate-event-counts': { query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string; readonly summarize_by?: string; readonly count_by?: string; readonly counts_filter?: string }; json: Schemas['QueryParameters']; answer: readonly ({
  readonly summarize_by: string
  readonly failures: number
  readonly successes: number
  readonly noops: number
  readonly skips: number
  readonly total: number
})[] }
    readonly '/api/query/v4/aggregate_event_counts': { query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string; readonly summarize_by?: string; readonly count_by?: string; readonly counts_filter?: string }; json: Schemas['QueryParameters']; answer: readonly ({
  readonly summarize_by: string
  readonly failures: number
  readonly successes: number
  readonly noops: number
  readonly skips: number
  readonly total: number
})[] }
    readonly '/api/query/v4/event-counts': { query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string; readonly summarize_by?: string; readonly count_by?: string; readonly counts_filter?: string }; json: Schemas['QueryParameters']; answer: readonly ({
  readonly subject_type: string
  readonly subject: {
    readonly title: (string | null)
  }
  readonly failures: number
  readonly successes: number
  readonly noops: number
  readonly skips: number
})[] }
    readonly '/api/query/v4/event_counts': { query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string; readonly summarize_by?: string; readonly count_by?: string; readonly counts_filter?: string }; json: Schemas['QueryParameters']; answer: readonly ({
  readonly subject_type: string
  readonly subject: {
    readonly title: (string | null)
  }
  readonly failures: number
  readonly successes: number
  readonly noops: number
  readonly skips: number
})[] }
    readonly '/api/query/v4/fact-names': { query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string }; json: Schemas['QueryParameters']; answer: (readonly ((string | null))[] | Schemas['Explanation']) }
    readonly '/api/query/v4/fact_names': { query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string }; json: Schemas['QueryParameters']; answer: (readonly ((string | null))[] | Schemas['Explanation']) }
    readonly '/api/query/v4/{entity}': { path: { readonly entity: string }; query: { readonly query?: string; readonly order_by?: string; readonly limit?: number; readonly offset?: number; readonly include_total?: boolean; readonly pretty?: boolean; readonly explain?: string; readonly timeout?: number; readonly snapshot?: string; readonly origin?: string }; json: Schemas['QueryParameters']; answer: (readonly (Schemas['EntityRecord'])[] | Schemas['Explanation']) }
    readonly '/api/statistics/searchevents': { answer: undefined }
    readonly '/api/statistics/viewevents': { answer: undefined }
    readonly '/api/submission/workspaceitems': { answer: never }
    readonly '/api/system/processes/{id}/cancel': { path: { readonly id: string }; answer: Schemas['Process'] }
    readonly '/api/system/processes/{id}/resume': { path: { readonly id: string }; answer: Schemas['Process'] }
    readonly '/api/system/scripts/{name}/processes': { path: { readonly name: string }; answer: Schemas['Process'] }
    readonly '/api/system/systemwidealerts': { json: Schemas['WantedAlert']; answer: Schemas['Alert'] }
    readonly '/api/uploads': { answer: undefined }
    readonly '/api/versioning/versions': { answer: never }
    readonly '/api/workflow/workflowitems': { answer: never }
  }
  readonly put: {
    readonly '/api/admin/entities/{name}': { path: { readonly name: string }; json: Schemas['WantedEntity']; answer: Schemas['Entity'] }
    readonly '/api/admin/sso/identities/{provider}/{uuid}': { path: { readonly provider: string; readonly uuid: string }; json: Schemas['WantedIdentity']; answer: Schemas['LinkedIdentity'] }
    readonly '/api/authz/resourcepolicies/{id}/eperson': { path: { readonly id: string }; answer: undefined }
    readonly '/api/authz/resourcepolicies/{id}/group': { path: { readonly id: string }; answer: undefined }
    readonly '/api/core/bitstreams/{uuid}/content': { path: { readonly uuid: string }; query: { readonly upload?: string; readonly replaceName?: boolean }; answer: Schemas['Bitstream'] }
    readonly '/api/core/bitstreams/{uuid}/format': { path: { readonly uuid: string }; answer: Schemas['Bitstream'] }
    readonly '/api/core/bundles/{uuid}/primaryBitstream': { path: { readonly uuid: string }; answer: Schemas['Bundle'] }
    readonly '/api/core/items/{uuid}': { path: { readonly uuid: string }; json: Schemas['WantedItem']; answer: Schemas['Item'] }
    readonly '/api/core/items/{uuid}/owningCollection': { path: { readonly uuid: string }; answer: never }
    readonly '/api/core/metadatafields/{id}': { path: { readonly id: string }; json: Schemas['WantedMetadataField']; answer: Schemas['MetadataField'] }
    readonly '/api/core/metadataschemas/{id}': { path: { readonly id: string }; json: Schemas['WantedMetadataSchema']; answer: Schemas['MetadataSchema'] }
    readonly '/api/query/v4/{entity}/{key}': { path: { readonly entity: string; readonly key: string }; json: Schemas['EntityRecord']; answer: Schemas['EntityRecord'] }
    readonly '/api/system/systemwidealerts/{id}': { path: { readonly id: string }; json: Schemas['WantedAlert']; answer: Schemas['Alert'] }
  }
  readonly patch: {
    readonly '/api/admin/entities/{name}': { path: { readonly name: string }; query: { readonly preview?: boolean }; json: Schemas['EntityChange']; answer: (Schemas['Entity'] | Schemas['Misfits']) | Schemas['Process'] }
    readonly '/api/authn/factors/{id}': { path: { readonly id: string }; json: Schemas['RenamedFactor']; answer: Schemas['Factor'] }
    readonly '/api/authz/resourcepolicies/{id}': { path: { readonly id: string }; json: Schemas['JsonPatch']; answer: Schemas['ResourcePolicy'] }
    readonly '/api/core/bitstreams': { json: Schemas['JsonPatch']; answer: undefined }
    readonly '/api/core/bitstreams/{uuid}': { path: { readonly uuid: string }; json: Schemas['JsonPatch']; answer: Schemas['Bitstream'] }
    readonly '/api/core/bundles/{uuid}': { path: { readonly uuid: string }; json: Schemas['JsonPatch']; answer: Schemas['Bundle'] }
    readonly '/api/core/items/{uuid}': { path: { readonly uuid: string }; json: Schemas['JsonPatch']; answer: Schemas['Item'] }
    readonly '/api/core/sites/{uuid}': { path: { readonly uuid: string }; json: Schemas['JsonPatch']; answer: Schemas['Site'] }
    readonly '/api/eperson/epersons/{uuid}': { path: { readonly uuid: string }; query: { readonly token?: string }; json: Schemas['JsonPatch']; answer: Schemas['Eperson'] }
    readonly '/api/eperson/groups/{uuid}': { path: { readonly uuid: string }; json: Schemas['JsonPatch']; answer: Schemas['Group'] }
    readonly '/api/query/v4/{entity}': { path: { readonly entity: string }; query: { readonly query?: string; readonly dry_run?: boolean; readonly expected?: number; readonly undo?: boolean }; json: Schemas['EntityRecord'] | Schemas['JsonPatch'] | {
  readonly records: readonly ({
    readonly key: string
    readonly etag?: (string | null)
    readonly record?: (Schemas['EntityRecord'] | null)
    readonly defaults?: boolean
    readonly patch?: (Schemas['EntityRecord'] | Schemas['JsonPatch'])
  })[]
}; answer: {
  readonly count: number
  readonly changed: number
  readonly dry_run: boolean
  readonly records: readonly ({
    readonly key: string
    readonly before: (Schemas['EntityRecord'] | null)
    readonly after: (Schemas['EntityRecord'] | null)
  })[]
  readonly undo?: {
    readonly records: readonly ({
      readonly key: string
      readonly etag?: (string | null)
      readonly record?: (Schemas['EntityRecord'] | null)
      readonly defaults?: boolean
      readonly patch?: (Schemas['EntityRecord'] | Schemas['JsonPatch'])
    })[]
  }
} }
    readonly '/api/query/v4/{entity}/{key}': { path: { readonly entity: string; readonly key: string }; json: Schemas['EntityRecord'] | Schemas['JsonPatch']; answer: Schemas['EntityRecord'] }
    readonly '/api/uploads/{id}': { path: { readonly id: string }; answer: undefined }
  }
  readonly delete: {
    readonly '/api/admin/entities/{name}': { path: { readonly name: string }; answer: undefined }
    readonly '/api/admin/sessions': { answer: undefined }
    readonly '/api/admin/sso/identities/{provider}/{uuid}': { path: { readonly provider: string; readonly uuid: string }; answer: undefined }
    readonly '/api/authn/sessions': { answer: undefined }
    readonly '/api/authn/sessions/{id}': { path: { readonly id: string }; answer: undefined }
    readonly '/api/authn/tokens/{id}': { path: { readonly id: string }; answer: undefined }
    readonly '/api/authz/resourcepolicies/{id}': { path: { readonly id: string }; answer: undefined }
    readonly '/api/core/bitstreams/{uuid}': { path: { readonly uuid: string }; answer: undefined }
    readonly '/api/core/bundles/{uuid}': { path: { readonly uuid: string }; answer: undefined }
    readonly '/api/core/bundles/{uuid}/primaryBitstream': { path: { readonly uuid: string }; answer: undefined }
    readonly '/api/core/items/{uuid}': { path: { readonly uuid: string }; answer: undefined }
    readonly '/api/core/metadatafields/{id}': { path: { readonly id: string }; answer: undefined }
    readonly '/api/core/metadataschemas/{id}': { path: { readonly id: string }; answer: undefined }
    readonly '/api/eperson/epersons/{uuid}': { path: { readonly uuid: string }; answer: undefined }
    readonly '/api/eperson/epersons/{uuid}/sessions': { path: { readonly uuid: string }; answer: undefined }
    readonly '/api/eperson/epersons/{uuid}/tokens': { path: { readonly uuid: string }; answer: undefined }
    readonly '/api/eperson/epersons/{uuid}/tokens/{id}': { path: { readonly uuid: string; readonly id: string }; answer: undefined }
    readonly '/api/eperson/groups/{uuid}': { path: { readonly uuid: string }; answer: undefined }
    readonly '/api/eperson/groups/{uuid}/epersons/{member}': { path: { readonly uuid: string; readonly member: string }; answer: undefined }
    readonly '/api/eperson/groups/{uuid}/subgroups/{member}': { path: { readonly uuid: string; readonly member: string }; answer: undefined }
    readonly '/api/query/v4/{entity}': { path: { readonly entity: string }; query: { readonly query?: string; readonly dry_run?: boolean; readonly expected?: number; readonly undo?: boolean }; answer: {
  readonly count: number
  readonly changed: number
  readonly dry_run: boolean
  readonly records: readonly ({
    readonly key: string
    readonly before: (Schemas['EntityRecord'] | null)
    readonly after: (Schemas['EntityRecord'] | null)
  })[]
  readonly undo?: {
    readonly records: readonly ({
      readonly key: string
      readonly etag?: (string | null)
      readonly record?: (Schemas['EntityRecord'] | null)
      readonly defaults?: boolean
      readonly patch?: (Schemas['EntityRecord'] | Schemas['JsonPatch'])
    })[]
  }
} }
    readonly '/api/query/v4/{entity}/{key}': { path: { readonly entity: string; readonly key: string }; answer: undefined }
    readonly '/api/system/processes/{id}': { path: { readonly id: string }; answer: undefined }
    readonly '/api/uploads/{id}': { path: { readonly id: string }; answer: undefined }
  }
}
