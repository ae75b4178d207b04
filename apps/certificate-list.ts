import { X509Certificate } from 'node:crypto';

/** Throws for what is no list of whole certificates in PEM form: TLS itself would take those before the first mistake and say no word of the others. */
export function checkCertificates(text: string): void {
  const blocks = text.split(/^(?=-----BEGIN )/m).filter((block) => block.startsWith('-----BEGIN CERTIFICATE'));
  const certificates = blocks.map((block) => new X509Certificate(block));
  if (certificates.length === 0) throw new Error('There is none.');
}
