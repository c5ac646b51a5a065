export type { Routes, Schemas } from './api.ts'
export {
  type AnyEntities,
  Client,
  createClient,
  type Options,
  type Status,
} from './client.ts'
export type { HalList, HalPage } from './hal.ts'
export type { LoginMethod } from './login-methods.ts'
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
export type {
  Changed,
  Description,
  Entity,
  Found,
  Operation,
  Page,
  Precondition,
  Query,
  RecordEvent,
  Together,
  Write,
} from './records.ts'
export type { Request } from './routes.ts'
export type { Session, SessionListener } from './session.ts'
export type { TokenStorage } from './storage.ts'
export type { Retries, Send } from './transport.ts'
