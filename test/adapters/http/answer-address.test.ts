/*
 * Goal: an address out of an answer is used only if it has the configured origin, or is https at a listed host.
 * Method: a table of addresses, and a property: no name is taken for one below a suffix unless it ends with a dot and that suffix.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { ListedHosts } from '../../../adapters/http/allow-list.js';
import { answerAddress } from '../../../adapters/http/http-answer.js';
import { HttpError } from '../../../adapters/http/http-error.js';

const RULES = {
  base: 'http://10.0.0.5:8188/api/',
  hosts: new ListedHosts(['.example.com', 'cdn.example.net', 'media.example.org:8443']),
};

function refusalOf(address: unknown): HttpError {
  try {
    answerAddress(address, RULES);
  } catch (error) {
    if (error instanceof HttpError) return error;
    throw error;
  }
  throw new Error(`${String(address)} was accepted.`);
}

describe('an address out of an answer', () => {
  it('may be of the configured origin, also relative', () => {
    for (const [address, url] of [
      ['http://10.0.0.5:8188/view?id=1', 'http://10.0.0.5:8188/view?id=1'],
      ['/view?id=1#part', 'http://10.0.0.5:8188/view?id=1'],
      ['jobs/1', 'http://10.0.0.5:8188/api/jobs/1'],
      ['../../../etc', 'http://10.0.0.5:8188/etc'],
    ])
      expect(answerAddress(address, RULES)).to.deep.equal({ url, isOwnOrigin: true });
  });

  it('may be https at a listed host', () => {
    for (const url of [
      'https://a.example.com/x',
      'https://b.a.EXAMPLE.com./x',
      'https://cdn.example.net/x?signature=1',
      'https://media.example.org:8443/x',
    ])
      expect(answerAddress(url, RULES)).to.include({ isOwnOrigin: false });
  });

  it('is refused otherwise, without being repeated', () => {
    for (const address of [
      'https://evilexample.com/s3cret',
      'https://example.com/s3cret',
      'https://example.com.evil.net/s3cret',
      'https://a.example.com:8443/s3cret',
      'https://media.example.org/s3cret',
      'http://a.example.com/s3cret',
      'https://10.0.0.5:8188/s3cret',
      'http://10.0.0.5/s3cret',
      'http://10.0.0.5:8189/s3cret',
      '//evil.net/s3cret',
      '\\\\evil.net\\s3cret',
      'https:evil.net/s3cret',
      'http://s3cret@10.0.0.5:8188/',
      'https://s3cret:s3cret@a.example.com/',
      'file:///s3cret',
      'data:text/plain,s3cret',
      'ftp://a.example.com/s3cret',
      'https://[::1]/s3cret',
      'https://[s3cret/',
      `https://a.example.com/${'s3cret'.repeat(2_000)}`,
      '',
      null,
      undefined,
      7,
      { url: 's3cret' },
    ]) {
      const error = refusalOf(address);
      expect([error.kind, error.requestSent], JSON.stringify(address)).to.deep.equal(['bad-answer', true]);
      expect(error.message).to.not.include('s3cret');
    }
  });

  it('is of a host below a suffix only at a dot', () => {
    const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/);
    const hosts = new ListedHosts(['.example.com']);
    fc.assert(
      fc.property(fc.array(label, { maxLength: 3 }), label, (labels, glued) => {
        const target = (hostname: string) => ({ protocol: 'https:', hostname, port: '443' }) as const;
        expect(hosts.has(target([...labels, 'example', 'com'].join('.')))).to.equal(labels.length > 0);
        expect(hosts.has(target([...labels, `${glued}example`, 'com'].join('.')))).to.equal(false);
      }),
    );
  });

  it('needs a list whose entries can be read', () => {
    for (const entry of [
      '',
      '.',
      '..example.com',
      '*.example.com',
      'https://example.com',
      'example.com/x',
      'a b',
      'example.com:0',
      'example.com:65536',
      '.127.0.0.1',
      'u@example.com',
    ])
      expect(() => new ListedHosts([entry]), entry).to.throw(RangeError);
  });
});
