import { service } from '../../api.ts'

/** How the service is: the calls of these pages. */
export interface Finding {
  readonly level: 'ok' | 'note' | 'warning' | 'error'
  readonly about: string
  readonly what: string
  readonly advice?: string | null
}

export interface Report {
  readonly counts: Readonly<Record<string, number>>
  readonly findings: readonly Finding[]
}

const admin = '/api/admin'
export const loadDoctor = (signal: AbortSignal): Promise<Report> =>
  service.value.get<Report>(`${admin}/doctor`, { signal })
export const loadSignOn = (signal: AbortSignal): Promise<Report> =>
  service.value.get<Report>(`${admin}/sso/check`, { signal })

export interface Explained {
  readonly provider: string
  readonly signature: string | null
  readonly subject: string | null
  readonly email: string | null
  readonly emailIgnored: string | null
  readonly outcome: string
  readonly why: string | null
  readonly eperson: { readonly uuid: string; readonly email: string } | null
  readonly specialGroups: readonly string[]
}

export const explain = (asked: Readonly<Record<string, unknown>>): Promise<Explained> =>
  service.value.post<Explained>(`${admin}/sso/explain`, { json: asked })

export interface Duration {
  readonly count: number
  readonly sum: number
}

export interface FiguresNow {
  readonly time: string
  readonly started: string
  readonly version?: string
  readonly node?: string
  readonly store?: string
  readonly workers: {
    readonly running: number
    readonly wanted: number
    readonly loops: readonly {
      readonly worker: number
      readonly heapBytes: number
      readonly delay: Duration
    }[]
  }
  readonly processor: { readonly seconds: number }
  readonly memory: { readonly residentBytes: number; readonly cacheBytes: number }
  readonly openFiles: number
  readonly storeBytes: Readonly<Record<string, number>>
  readonly logins: readonly {
    readonly method?: string
    readonly success?: number
    readonly failure?: number
    readonly throttled: number
  }[]
  readonly requests: {
    readonly open: number
    readonly answered: Readonly<Record<string, number>>
    readonly duration: Duration
  }
  readonly downloadsOpen: number
  readonly listingsOpen: number
  readonly queues: readonly {
    readonly queue?: string
    readonly running: number
    readonly waiting: number
    readonly refused: number
  }[]
}

export const loadFigures = (signal: AbortSignal): Promise<FiguresNow> =>
  service.value.get<FiguresNow>(`${admin}/figures`, { signal })

export interface BackupList {
  readonly configured: boolean
  readonly process: number | null
  readonly backups: readonly Backup[]
}

export interface Backup {
  readonly name: string
  readonly complete: boolean
  readonly fault: string | null
  readonly made: string | null
  readonly carrel: string | null
  readonly bytes: number | null
  readonly contents: number | null
  readonly lost: number | null
}

export const loadBackups = (signal: AbortSignal): Promise<BackupList> =>
  service.value.get<BackupList>(`${admin}/backups`, { signal })

export interface AlertBody {
  readonly alertId: number
  readonly message: string
  readonly active: boolean
  readonly countdownTo: string | null
  readonly allowSessions: 'all' | 'current' | 'admin'
}

const alerts = '/api/system/systemwidealerts'

/** There is one at most. */
export const loadAlert = async (signal: AbortSignal): Promise<AlertBody | null> =>
  (await service.value.list<AlertBody>(alerts).page(0, 1, signal)).items[0] ?? null

export const writeAlert = (id: number | undefined, json: Omit<AlertBody, 'alertId'>): Promise<unknown> =>
  id === undefined ? service.value.post(alerts, { json }) : service.value.put(`${alerts}/${id}`, { json })
