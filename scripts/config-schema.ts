import { fileKeyOf, type SettingKey, secretKeys, settings } from '../src/config/settings.ts'
import { allProviderSchemas, closed, signOnSchema, text } from '../src/config/single-sign-on-schema.ts'

const settingValue = {
  anyOf: [{ type: ['string', 'number', 'boolean'] }, { type: 'array', items: { type: 'string' } }],
}

/** The JSON Schema of the configuration file, as it is published: docs/reference/carrel.schema.json. */
export const configSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Configuration of Carrel (the file that CARREL_CONFIG names)',
  ...closed({
    $schema: { type: 'string' },
    ...Object.fromEntries(
      (Object.keys(settings) as SettingKey[])
        .filter(key => key !== 'CARREL_CONFIG')
        .map(key => [key, { description: `Takes ${settings[key].takes}.`, ...settingValue }]),
    ),
    ...Object.fromEntries(
      Array.from(secretKeys, key => [
        fileKeyOf(key),
        { description: `The path of a file with the value of ${key}.`, type: 'string' },
      ]),
    ),
    specialGroups: closed({
      ip: {
        type: 'array',
        description: 'Clients from these networks are in the group. A leading ! excludes a network.',
        items: closed(
          { group: text('The group.'), ranges: { type: 'array', minItems: 1, items: { type: 'string' } } },
          ['group', 'ranges'],
        ),
      },
      method: {
        type: 'array',
        description: 'Users who log in with this method are in the group.',
        items: closed(
          { group: text('The group.'), method: text('password, ldap, or the scheme of a provider.') },
          ['group', 'method'],
        ),
      },
    }),
    singleSignOn: {
      ...signOnSchema,
      properties: {
        ...signOnSchema.properties,
        providers: {
          type: 'array',
          minItems: 1,
          description: 'The providers, in display order.',
          items: { oneOf: Object.values(allProviderSchemas) },
        },
      },
    },
  }),
}
