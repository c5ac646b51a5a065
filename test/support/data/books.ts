/** Records with a field of each type, and texts that are hard to parse. */
export const books = [
  {
    id: 1,
    title: 'A "quoted", title\r\nof two lines',
    pages: 12,
    rare: true,
    at: '2020-01-01T00:00:00Z',
    of: [1, { a: '}]{[' }],
  },
  { id: 2, title: '\\" [ { 🎉 \\', pages: null, rare: false, at: '2021-01-01T00:00:00+01:00', of: null },
  { id: 3, title: '', pages: 1.5, rare: true, at: '2019-01-01T00:00:00.25Z', of: {} },
]
