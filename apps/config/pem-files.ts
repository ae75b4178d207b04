import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';

/**
 * The text of a file that `check` takes. Throws what `refuse` makes of what is wrong, in words that come after the
 * file's name: that it cannot be read, or `fault`. What the system or TLS says of it is left out: it says nothing that
 * the sentence does not.
 */
export function readPem(
  path: string,
  check: (text: string) => unknown,
  fault: string,
  refuse: (fault: string) => Error,
): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw refuse('cannot be read');
  }
  try {
    check(text);
  } catch {
    throw refuse(fault);
  }
  return text;
}

/**
 * Throws for what is no list of whole certificates in PEM form: TLS itself would take those before the first mistake
 * and say no word of the others.
 */
export function checkCertificates(text: string): void {
  const blocks = text.split(/^(?=-----BEGIN )/m).filter((block) => block.startsWith('-----BEGIN CERTIFICATE'));
  const certificates = blocks.map((block) => new X509Certificate(block));
  if (certificates.length === 0) throw new Error('There is none.');
}
