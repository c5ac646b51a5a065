import type { Contracts } from '../http/contract.ts'
import { Authorization, Feature } from '../http/resources/schemas.ts'
import {
  answer,
  closed,
  json,
  links,
  listOf,
  pageOf,
  paging,
  parameter,
  Type,
  text,
  uri,
  uuid,
} from '../http/schema.ts'

export const tag = 'Authorizations'
const found = answer('Those that hold.', json(pageOf('authorizations', Authorization, 'AuthorizationPage')))
const eperson = parameter(uuid, 'Whose rights; without it, those of the caller.')
const many = (schema: Parameters<typeof Type.Array>[0]) => parameter(Type.Array(schema))

export const contracts = {
  showAuthorizations: {
    summary: 'Links of the searches',
    answers: { 200: answer('The links.', json(closed({ _links: links('search', 'self') }))) },
  },
  showAuthorizationSearches: {
    summary: 'The searches',
    answers: { 200: answer('The links.', json(closed({ _links: links('object', 'objects', 'self') }))) },
  },
  searchAuthorizations: {
    summary: 'Rights of a user to an object',
    query: {
      uri: parameter(uri, 'The address of the object.', { required: true }),
      feature: parameter(text),
      eperson,
      ...paging,
    },
    answers: { 200: found },
    problems: ['authentication-required', 'access-denied'],
  },
  searchAuthorizationsOfMany: {
    summary: 'Rights of a user to several objects',
    query: {
      uri: many(uri),
      uuid: many(text),
      type: parameter(text, 'Of the objects in `uuid`, such as core.bitstream.'),
      feature: many(text),
      eperson,
      ...paging,
    },
    answers: { 200: found },
    problems: ['authentication-required', 'access-denied'],
  },
  showAuthorization: {
    summary: 'One of the authorizations that were found',
    answers: { 200: answer('It holds.', json(Authorization)) },
    problems: ['authentication-required', 'access-denied', 'not-found'],
  },
  listFeatures: {
    summary: 'List features, which are what rights are about',
    ...listOf(pageOf('features', Feature, 'FeaturePage')),
  },
  showFeature: {
    summary: 'A feature',
    answers: { 200: answer('The feature.', json(Feature)) },
    problems: ['not-found'],
  },
} as const satisfies Contracts
