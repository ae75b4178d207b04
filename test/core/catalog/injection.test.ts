// Goal: no parameter of a model can name a place, at any depth, and ordinary text still passes.
// Method: vectors of both kinds, each as a value, inside an array and inside an object.
import { expect } from 'chai';
import { refusePlaces } from '../../../core/catalog/injection.js';
import { ServiceError } from '../../../core/errors.js';

const PLACES = [
  'http://example.com', 'HTTPS://EXAMPLE.COM/x', 's3://bucket/key', 'file:///etc/passwd', '  ftp://x  ', 'see https://example.com', '//example.com/x',
  'data:text/plain,hi', 'javascript:alert(1)', 'urn:uuid:x', 'mailto:a@example.com', '/etc/passwd', '\\\\server\\share', '~/.ssh', './x', '../x', '..', '.', 'a/../b', 'a\\..\\b',
  'C:\\x', 'c:/x', 'example.com', 'example.com:8080', 'a.b.example.co/path?x#y', 'localhost', 'localhost:3000/x', '127.0.0.1', '10.0.0.1:80/x', '[::1]', '[fe80::1]:80',
  'folder/x.png', 'my folder/a picture.png', 'a/b/c', '::1', 'fe80::1', '0x7f000001', 'example.com.', '%2e%2e%2f', 'bücher.example', '169.254.169.254.', 'user@example.com', 'example\u3002com', 'example\uff0ecom', 'soft light\nexample.com', 'a\r\n/etc/passwd',
];
const TEXT = [
  '', 'watercolour', '16:9', '1024x1024', 'a house, by the sea', '1.5', 'v2', 'half/half', 'note: soft light', 'ratio 4:3', 'Dr. Who walks.', 'an ellipsis ...', '3.5 mm', 'red-blue', 'style:anime', '100% wool', 'sun/moon and sea/sky', '16/9',
];

function refusal(value: string, shape: (value: string) => Parameters<typeof refusePlaces>[0]): unknown {
  try {
    return refusePlaces(shape(value), '/parameters');
  } catch (error) {
    return error;
  }
}

describe('refusePlaces', () => {
  const shapes = [(value: string) => ({ style: value }), (value: string) => ({ list: [1, value] }), (value: string) => ({ deep: { er: [{ x: value }] } })];
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

  for (const text of TEXT) it(`lets ${JSON.stringify(text)} pass`, () => { for (const shape of shapes) expect(refusal(text, shape)).to.equal(undefined); });

  it('takes time in line with the length of the text, however it is made', () => {
    const hostile = ['a', 'a.', 'a/', '/a', 'a:', 'a-', '0x', 'a ', '.a', 'a\\', ':0', 'é.'].flatMap((piece) => ['', '!', '/', '.'].map((end) => piece.repeat(60_000) + end));
    // Were a pattern quadratic, one of these alone would take longer than the whole suite may.
    for (const value of hostile) refusal(value, shapes[0]!);
  });

  it('does not mind what is not text', () => {
    expect(() => refusePlaces({ a: 1, b: null, c: true, d: [[]], e: {} }, '/parameters')).not.to.throw();
  });
});
