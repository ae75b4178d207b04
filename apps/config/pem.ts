import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';

/**
 * The text of a file that `check` accepts. Throws the error that `refuse` makes of words that come after the file's name:
 * that it cannot be read, or `fault`. The error of the system or of TLS is left out, because it says nothing more.
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
 * Throws for text that is not a list of whole certificates in PEM form: TLS itself would use those before the first
 * mistake and ignore the others silently.
 */
export function checkCertificates(text: string): void {
  const blocks = text.split(/^(?=-----BEGIN )/m).filter((block) => block.startsWith('-----BEGIN CERTIFICATE'));
  const certificates = blocks.map((block) => new X509Certificate(block));
  if (certificates.length === 0) throw new Error('There is none.');
}
