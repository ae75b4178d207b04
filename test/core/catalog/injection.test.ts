// Goal: a parameter that contains a URL, host, path or bucket is refused at any depth; ordinary text passes.
// Method: examples of both kinds, and those of the table in the documentation, each as a value, inside an array and
// inside an object.
import { expect } from 'chai';
import { createRequire } from 'node:module';
import { placeRefusal } from '../../../core/catalog/injection.js';
import { TOP_LEVEL_DOMAINS } from '../../../adapters/system/top-level-domains.js';
import { readPage } from '../../docs/pages.js';
import { ServiceError } from '../../../core/errors.js';

/** The list of IANA, as of the installed package. */
const TLDS = createRequire(import.meta.url)('tlds') as readonly string[];

const PLACES = [
  'http://example.com',
  'HTTPS://EXAMPLE.COM/x',
  's3://bucket/key',
  'file:///etc/passwd',
  '  ftp://x  ',
  'see https://example.com',
  '//example.com/x',
  'data:text/plain,hi',
  'javascript:alert(1)',
  'urn:uuid:x',
  'mailto:a@example.com',
  '/etc/passwd',
  '\\\\server\\share',
  '~/.ssh',
  './x',
  '../x',
  '..',
  '.',
  'a/../b',
  'a\\..\\b',
  'C:\\x',
  'c:/x',
  'example.com',
  'example.com:8080',
  'a.b.example.co/path?x#y',
  'localhost',
  'localhost:3000/x',
  '127.0.0.1',
  '10.0.0.1:80/x',
  '[::1]',
  '[fe80::1]:80',
  'folder/x.png',
  'folder\\x.PNG',
  '::1',
  'fe80::1',
  '0x7f000001',
  'example.com.',
  '%2e%2e%2f',
  'bücher.example',
  '169.254.169.254.',
  'user@example.com',
  'example\u3002com',
  'example\uff0ecom',
  'soft light\nexample.com',
  'a\r\n/etc/passwd',
  'foo+bar://x',
  'look at ftp://x now',
  '%68ttp://x',
  '%252e%252e%252fx',
  '%25252525252e',
  '%2Fetc%2Fpasswd',
  'example%EF%BC%8Ecom',
  '\uff48ttp:\uff0f\uff0fx',
  '\uff0fetc',
  '50% %2e%2e/',
  '100%%65xample.com',
  'evil.example/x',
  'evil.example?x',
  'evil.example#x',
  'file.png:80',
  '10.0.0.1',
  '169.254.169.254/latest',
  '1.2.3.4:80',
  '[::ffff:10.0.0.1]',
  '1:2:3:4:5:6:7:8',
  'bucket.s3.amazonaws.com',
  's3.eu-west-1.amazonaws.com/bucket',
  's3:bucket/key',
  'arn:aws:s3:::bucket',
  'gs:x',
  '~root/x',
  '~',
  '\\\\host\\share',
  '\tlocalhost:80\t',
  'soft light\u2028localhost',
  '\u200bevil.com',
  '\u00ad/etc/passwd',
  'exam\u00adple.com',
  '\u200bhttp:evil',
  'ht\u2060tps://x',
  '\ufeff10.0.0.1',
  'a/.\u200d./b',
  'metadata.google.internal',
  'printer.local',
  'EXAMPLE.COM',
  'пример.рф',
  'example.xn--p1ai',
  'dark.moody\nexample.com',
  'dark.moody:80',
  'dark.moody/x',
  'user@dark.moody',
  'example%2Eco%6D',
  'x.intranet',
  'x.private',
  'x.localdomain',
  'postgres.default.svc',
  'me@localhost',
  'me@LOCALHOST.',
  'user:password@localhost:5432/x',
  'a@[::1]',
  'a@[127.0.0.1]',
  'a@[IPv6:fe80::1]',
];
const TEXT = [
  '',
  'watercolour',
  '16:9',
  '1024x1024',
  'a house, by the sea',
  '1.5',
  'v2',
  'half/half',
  'note: soft light',
  'ratio 4:3',
  'Dr. Who walks.',
  'an ellipsis ...',
  '3.5 mm',
  'red-blue',
  'style:anime',
  '100% wool',
  'sun/moon and sea/sky',
  '16/9',
  '35mm f/1.8',
  'f/2.8',
  'file.png',
  'my.file.JPEG',
  'like file.png, but warmer',
  'and/or',
  'e.g. this',
  'a/b/c',
  'a/b/c test',
  'red/green/blue',
  'my folder/a picture.png',
  'compare a/b in file.png',
  '10:30:00',
  'lens: 35mm',
  'file: none',
  '~50% grey',
  '50%faded',
  '20%50',
  '100%',
  '1.2.3',
  'v1.2.3.4',
  '3/4 view',
  '1 / 2',
  'at http and ftp',
  'C: a key',
  'w/o people',
  '#fff',
  '@ 35mm',
  'Node.js',
  'dark.moody',
  'soft.light.and.shadow',
  'Dark.Moody.',
  'dark.moody\nsoft.light',
  'clip.mov',
  'and/or.moody',
  'a@b',
  'me@localhosts',
  'shot at [::]',
  'नीला.आकाश',
];

function refusal(value: string, shape: (value: string) => Parameters<typeof placeRefusal>[1]): unknown {
  return placeRefusal({ topLevelDomains: TOP_LEVEL_DOMAINS }, shape(value), ['parameters']);
}

describe('placeRefusal', () => {
  const shapes = [
    (value: string) => ({ style: value }),
    (value: string) => ({ list: [1, value] }),
    (value: string) => ({ deep: { er: [{ x: value }] } }),
  ];
  const pointers = ['/parameters/style', '/parameters/list/1', '/parameters/deep/er/0/x'];

  for (const place of PLACES) {
    it(`refuses ${JSON.stringify(place)}`, () => {
      shapes.forEach((shape, index) => {
        const error = refusal(place, shape);
        expect(error).to.be.instanceOf(ServiceError).with.property('code', 'FIELD_INVALID');
        expect((error as ServiceError).details.pointer).to.equal(pointers[index]);
      });
    });
  }

  for (const text of TEXT)
    it(`accepts ${JSON.stringify(text)}`, () => {
      for (const shape of shapes) expect(refusal(text, shape)).to.equal(undefined);
    });

  it('refuses hosts under each top-level domain, alone unless it is a file ending too', () => {
    const passes = (text: string) => refusal(text, shapes[0]!) === undefined;
    expect(TLDS).to.include.members(['com', 'भारत', 'বাংলা']).and.to.have.length.above(1_000);
    expect(TLDS.filter((name) => passes(`x.${name}`))).to.deep.equal(['mov']);
    for (const host of ['x', 'हिन्दी', 'বাং.লা'])
      for (const end of [':80', '/x', '.?q'])
        expect(
          TLDS.filter((name) => passes(`${host}.${name}${end}`)),
          host + end,
        ).to.deep.equal([]);
  });

  it('takes time linear in the length of any text', () => {
    const hostile = [
      'a',
      'a.',
      'a/',
      '/a',
      'a:',
      'a-',
      '0x',
      'a ',
      '.a',
      'ि.',
      'कि',
      'a@[',
      'a@localhost',
      'a\\',
      ':0',
      'é.',
      '@',
      '@a.',
      'a@a.',
      '[:',
      '::',
      '%',
      '%2',
      '%25',
      '%41',
      '\n',
      'a\n',
      '.png',
      '/.png',
      '~/',
      '~a',
      ' ',
      '\uff0e',
    ].flatMap((piece) => ['', '!', '/', '.'].map((end) => piece.repeat(60_000) + end));
    // With a quadratic pattern, one of these alone would take longer than the whole suite may.
    for (const value of hostile) refusal(value, shapes[0]!);
  });

  it('names the parameter, a member named 0 by its name', () => {
    const error = refusal('s3://x', (value) => ({ '0': [{ '1': value }] })) as ServiceError;
    expect(error.details).to.deep.equal({ pointer: '/parameters/0/0/1', field: 'parameters.0[0].1' });
    expect(error.message).to.equal('parameters.0[0].1 must not be a URL, host, path or bucket.');
  });

  describe('as the documentation has it', () => {
    const table = readPage('docs/catalog.md').text.split('### Places in parameters')[1]?.split('\n## ')[0] ?? '';
    const rows = [...table.matchAll(/^\| (?<what>[^|]+) \| (?<refused>[^|]+) \| (?<passes>[^|]+) \|$/gm)].map(
      ({ groups }) => groups as Record<string, string>,
    );
    const quoted = (cell: string | undefined): string[] =>
      [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, text]) => text as string);

    it('has examples of both kinds', () =>
      expect(
        rows
          .flatMap(({ refused, passes }) => [quoted(refused).length, quoted(passes).length])
          .filter((count) => count > 0),
      ).to.have.length.above(8));
    for (const { what, refused, passes } of rows) {
      for (const text of quoted(refused))
        it(`refuses ${text} (${what})`, () =>
          expect(refusal(text, (value) => ({ style: value }))).to.be.instanceOf(ServiceError));
      for (const text of quoted(passes))
        it(`accepts ${text} (${what})`, () => expect(refusal(text, (value) => ({ style: value }))).to.equal(undefined));
    }
  });

  it('ignores values that are not text', () => {
    expect(
      placeRefusal({ topLevelDomains: TOP_LEVEL_DOMAINS }, { a: 1, b: null, c: true, d: [[]], e: {} }, ['parameters']),
    ).to.equal(undefined);
  });
});
