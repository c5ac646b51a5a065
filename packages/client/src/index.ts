export type { Routes, Schemas } from './api.ts'
export type { Change, ChangeOptions } from './changes.ts'
export {
  type AnyEntities,
  Client,
  createClient,
  type Status,
} from './client.ts'
export type { Description } from './description.ts'
export type { HalList, HalPage } from './hal.ts'
export type { LoginMethod } from './login-methods.ts'
export type { Options } from './options.ts'
export { CarrelNetworkError, CarrelProblem, type Code } from './problem.ts'
export type {
  Column,
  Condition,
  ExactJson,
  Field,
  Instant,
  Json,
  Row,
  Specification,
  Subquery,
} from './query.ts'
export type { Entity, Found, Page, Precondition, Query } from './records.ts'
export type { Request } from './routes.ts'
export type {
  AskFactor,
  Factor,
  FactorName,
  Passkey,
  PasskeyOptions,
  PasskeyPurpose,
  SecondStep,
} from './second-factor.ts'
export type { Session, SessionListener } from './session.ts'
export type { Changed, Operation, RecordEvent, Together, Write } from './several.ts'
export type { TokenStorage } from './storage.ts'
export type { Retries, Send } from './transport.ts'
