import { crc32, deflateSync } from 'node:zlib'
import type { Service } from '../service/service.ts'
import { addItem, anyEperson, everybody, type StoredItem, titled } from './repository.ts'

/**
 * A small archive for the console: letters, the places from which they were sent, and items with files of
 * several kinds.
 */
export const reader = 'ruth@example.org'

const places = ['Aarhus', 'Basel', 'Coimbra', 'Dublin', 'Évora']
const senders = ['Abel', 'Bertha', 'Câmara', 'Dürer', 'Zoë']

export const lettersOf = (count: number): readonly object[] =>
  Array.from({ length: count }, (_, at) => ({
    id: at + 1,
    shelfmark: `MS ${at + 1}`,
    title: `${senders[at % 5]} to ${senders[(at + 2) % 5]}, ${places[(at * 3) % 5]}`,
    sender: senders[at % 5],
    place: places[(at * 3) % 5],
    year: at % 7 === 0 ? null : 1780 + (at % 40),
    pages: 1 + (at % 12),
    digitised: at % 3 === 0,
    catalogued: new Date(Date.UTC(2000 + (at % 10), at % 12, 1 + (at % 28))).toISOString(),
    subjects: [senders[(at + 1) % 5], places[at % 5]],
  }))

export interface Archive {
  readonly item: StoredItem
}

export async function fillArchive(service: Service): Promise<Archive> {
  await service.addEperson(reader, { groups: ['Readers'] })
  await service.addEperson('ada@example.org', { admin: true })
  await service.addRecords('letters', 'id', lettersOf(300), 'eperson')
  await service.addRecords(
    'places',
    'name',
    places.map((name, at) => ({ name, country: ['DK', 'CH', 'PT', 'IE', 'PT'][at], visits: at * 10 })),
  )
  const item = await addItem(service, {
    identifier: 'archive/1',
    metadata: {
      ...titled('Bertha to Câmara, Basel'),
      'dc.contributor.author': [{ value: 'Bertha', language: null }],
      'dc.date.issued': [{ value: '1790', language: null }],
    },
    readers: everybody,
    files: [
      { name: 'letter.txt', content: 'Dear friend,\nthis was never written.\n', mimeType: 'text/plain' },
      { name: 'picture.png', content: png(120, 80), mimeType: 'image/png', description: 'A green field' },
      { name: 'letter.pdf', content: pdf('Dear friend in a PDF'), mimeType: 'application/pdf' },
      { name: 'voice.wav', content: wav(), mimeType: 'audio/wav' },
      { name: 'page.html', content: '<script>alert(1)</script>', mimeType: 'text/html' },
      { name: 'drawing.svg', content: '<svg onload="alert(1)"/>', mimeType: 'image/svg+xml' },
    ],
  })
  await addItem(service, { identifier: 'archive/2', readers: anyEperson, files: [] })
  return { item }
}

/** Returns a picture in one color. */
function png(width: number, height: number): Buffer {
  const row = Buffer.concat([
    Buffer.from([0]),
    ...Array.from({ length: width }, () => Buffer.from([40, 120, 90])),
  ])
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data])
    const whole = Buffer.alloc(body.length + 8)
    whole.writeUInt32BE(data.length, 0)
    body.copy(whole, 4)
    whole.writeUInt32BE(crc32(body), body.length + 4)
    return whole
  }
  const rows = Buffer.concat(Array.from({ length: height }, () => row))
  const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10])
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** Returns a document of one page with a line of text, and with a script that a viewer must not run. */
function pdf(text: string): string {
  const content = `BT /F1 24 Tf 40 120 Td (${text}) Tj ET`
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >> >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ]
  let file = '%PDF-1.4\n'
  const offsets = objects.map((object, at) => {
    const offset = file.length
    file += `${at + 1} 0 obj\n${object}\nendobj\n`
    return `${String(offset).padStart(10, '0')} 00000 n \n`
  })
  const size = objects.length + 1
  return `${file}xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF\n`
}

/** Returns a tenth of a second of silence. */
function wav(): Buffer {
  const samples = 800
  const file = Buffer.alloc(44 + samples, 128)
  file.write('RIFF', 0)
  file.writeUInt32LE(36 + samples, 4)
  file.write('WAVEfmt ', 8)
  file.writeUInt32LE(16, 16)
  file.writeUInt16LE(1, 20)
  file.writeUInt16LE(1, 22)
  file.writeUInt32LE(8000, 24)
  file.writeUInt32LE(8000, 28)
  file.writeUInt16LE(1, 32)
  file.writeUInt16LE(8, 34)
  file.write('data', 36)
  file.writeUInt32LE(samples, 40)
  return file
}
