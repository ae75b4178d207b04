import { randomUUID } from 'node:crypto';
import { bytesOfFile, joined, mediaTypeOf, type BodyFile, type SizedRequest, type SizedStream } from './body-file.js';

/** A field of a form: a text, or a file with the name that the server is told. */
export type FormField =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly fileName: string; readonly file: BodyFile };

/**
 * A form as multipart/form-data (RFC 7578). Files are opened as the body is sent; its length is known before. Names are sent
 * in UTF-8, with quotes and line breaks escaped as browsers do it. Throws a `RangeError` for a type that is none.
 */
export function formRequest(fields: readonly FormField[]): SizedRequest {
  // Nobody can know it, so that no value has it.
  const boundary = `darkroom-${randomUUID()}`;
  const parts = fields.flatMap((field) => [`--${boundary}\r\n`, ...partsOf(field), '\r\n']);
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: joined([...parts, `--${boundary}--\r\n`]),
  };
}

function partsOf(field: FormField): readonly (string | SizedStream)[] {
  const disposition = `Content-Disposition: form-data; name="${escaped(field.name)}"`;
  if ('value' in field) return [`${disposition}\r\n\r\n`, field.value];
  const { fileName, file } = field;
  return [
    `${disposition}; filename="${escaped(fileName)}"\r\nContent-Type: ${mediaTypeOf(file)}\r\n\r\n`,
    { byteSize: file.byteSize, stream: bytesOfFile(file) },
  ];
}

function escaped(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}
