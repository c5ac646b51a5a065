import type { Schemas } from '@carrel/client'
import { service } from '../../api.ts'

/** One finding of the doctor. */
export type Finding = Schemas['Finding']

export type Report = Schemas['Report']

const admin = '/api/admin'
export const loadDoctor = (signal: AbortSignal): Promise<Report> =>
  service.value.get<Report>(`${admin}/doctor`, { signal })
export const loadSignOn = (signal: AbortSignal): Promise<Schemas['SignOnReport']> =>
  service.value.get<Schemas['SignOnReport']>(`${admin}/sso/check`, { signal })

export type Explained = Schemas['ExplainedSignOn']

export const explain = (asked: Readonly<Record<string, unknown>>): Promise<Explained> =>
  service.value.post<Explained>(`${admin}/sso/explain`, { json: asked })

export type Duration = Pick<Schemas['Duration'], 'count' | 'sum'>

export type FiguresNow = Schemas['Figures'] & {
  readonly version?: string
  readonly node?: string
  readonly store?: string
}

export const loadFigures = (signal: AbortSignal): Promise<FiguresNow> =>
  service.value.get<FiguresNow>(`${admin}/figures`, { signal })

interface BackupList {
  readonly configured: boolean
  readonly process: number | null
  readonly backups: readonly Backup[]
}

export type Backup = Schemas['Backup']

export const loadBackups = (signal: AbortSignal): Promise<BackupList> =>
  service.value.get<BackupList>(`${admin}/backups`, { signal })

export type AlertBody = Pick<
  Schemas['Alert'],
  'alertId' | 'message' | 'active' | 'countdownTo' | 'allowSessions'
>

const alerts = '/api/system/systemwidealerts'

/** Loads the alert; there is at most one. */
export const loadAlert = async (signal: AbortSignal): Promise<AlertBody | null> =>
  (await service.value.list<AlertBody>(alerts).page(0, 1, signal)).items[0] ?? null

export const writeAlert = (id: number | undefined, json: Omit<AlertBody, 'alertId'>): Promise<unknown> =>
  id === undefined ? service.value.post(alerts, { json }) : service.value.put(`${alerts}/${id}`, { json })
