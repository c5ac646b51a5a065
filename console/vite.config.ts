import { defineConfig } from 'vite'

/** The service used by `npm run console`. */
const service = process.env.CARREL_SERVICE ?? 'http://localhost:8080'

export default defineConfig(({ command }) => ({
  // Addresses are relative to the page's <base>, which the service sets, so that the console works below any
  // path.
  base: command === 'build' ? './' : '/console/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  // Uses the sources of the client, without building it first.
  resolve: { conditions: ['carrel-source', 'module', 'browser', 'development|production'] },
  build: {
    target: 'es2022',
    // The content security policy forbids inline content: no small files as data URLs, no script to preload
    // modules.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    emptyOutDir: true,
    rolldownOptions: {
      output: {
        // The code of every page is in one file, so that a first visit needs few requests. Pages are loaded
        // when they are opened.
        codeSplitting: {
          groups: [
            {
              name: 'console',
              test: /node_modules\/(@?preact|lucide)|packages\/client\/src\/(?!downloads|uploads|processes)|console\/src\/(parts|shell\/[^/]+$|query\/AsRequest|people\/LoginForm|i18n\/(i18n|languages\.|terms\.ts$|languages\/en\.ts$)|styles|[\w-]+\.tsx?$)/,
            },
          ],
        },
      },
    },
    license: { fileName: 'licenses.md' },
  },
  server: {
    proxy: Object.fromEntries(['/api', '/actuator', '/health'].map(path => [path, service])),
  },
  plugins: [
    {
      name: 'the page as the service would send it',
      apply: 'serve',
      transformIndexHtml: html =>
        html
          .replaceAll('{base}', '/console/')
          .replaceAll('{query}', '/api/query/v4')
          .replaceAll('{name}', 'Carrel')
          .replaceAll('{logo}', '')
          .replaceAll('{color}', '')
          .replaceAll('{csrf}', 'DSPACE-XSRF-TOKEN')
          .replaceAll('{providers}', '{}'),
    },
  ],
}))
