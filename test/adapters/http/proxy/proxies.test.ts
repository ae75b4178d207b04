/*
 * Goal: the variables of the environment choose the proxy that other programs would use with them, and never show a secret.
 * Method: tables of variables and of targets, held against the rules of curl.
 */
import { expect } from 'chai';
import { readTarget } from '../../../../adapters/http/allow-list.js';
import { type Environment, Proxies } from '../../../../adapters/http/proxies.js';

const proxyFor = (environment: Environment, url: string) => new Proxies(environment).for(readTarget(url));
const portFor = (environment: Environment, url = 'https://a.example/') => proxyFor(environment, url)?.port;

describe('the proxies of the environment', () => {
  it('are chosen by the scheme of the target, lower case before upper case', () => {
    for (const [environment, https, http] of [
      [{}, undefined, undefined],
      [{ HTTPS_PROXY: 'http://p:1' }, '1', undefined],
      [{ HTTP_PROXY: 'http://p:2' }, undefined, '2'],
      [{ https_proxy: 'http://p:1', HTTPS_PROXY: 'http://p:9' }, '1', undefined],
      [{ http_proxy: 'http://p:2', HTTP_PROXY: 'http://p:9' }, undefined, '2'],
      [{ https_proxy: '', HTTPS_PROXY: 'http://p:1' }, '1', undefined],
      [{ all_proxy: 'http://p:3' }, '3', '3'],
      [{ ALL_PROXY: 'http://p:3', HTTPS_PROXY: 'http://p:1' }, '1', '3'],
    ] as const)
      expect(
        [portFor(environment), portFor(environment, 'http://a.example/')],
        JSON.stringify(environment),
      ).to.deep.equal([https, http]);
  });

  it('are read with their scheme, port and credentials', () => {
    for (const [value, expected] of [
      ['http://proxy.internal:3128', { protocol: 'http:', hostname: 'proxy.internal', port: '3128' }],
      ['proxy.internal:3128', { protocol: 'http:', hostname: 'proxy.internal', port: '3128' }],
      ['proxy.internal', { protocol: 'http:', hostname: 'proxy.internal', port: '80' }],
      ['https://Proxy.internal/', { protocol: 'https:', hostname: 'proxy.internal', port: '443' }],
      ['http://[::1]:3128', { protocol: 'http:', hostname: '::1', port: '3128' }],
      [
        'http://us%40er:p%3Aw@10.0.0.1:3128',
        {
          protocol: 'http:',
          hostname: '10.0.0.1',
          port: '3128',
          authorization: `Basic ${Buffer.from('us@er:p:w').toString('base64')}`,
        },
      ],
      [
        'http://token@p:1',
        {
          protocol: 'http:',
          hostname: 'p',
          port: '1',
          authorization: `Basic ${Buffer.from('token:').toString('base64')}`,
        },
      ],
    ] as const)
      expect(proxyFor({ HTTPS_PROXY: value }, 'https://a.example/'), value).to.deep.equal(expected);
  });

  it('are refused where they are none, by the name of the variable alone', () => {
    for (const value of ['socks5://s3cret@p:1', 'ftp://s3cret', 'http://', 'http://s3cret:%zz@p:1', 'http://[s3cret'])
      expect(() => new Proxies({ https_proxy: value }), value)
        .to.throw(RangeError, /^https_proxy /)
        .with.property('message')
        .that.does.not.include('s3cret');
  });

  it('are passed by for what NO_PROXY lists', () => {
    for (const [list, url, isDirect] of [
      ['*', 'https://a.example/', true],
      ['a.example', 'https://a.example/', true],
      ['a.example', 'https://b.a.example/', true],
      ['.a.example', 'https://b.a.example/', true],
      ['.a.example', 'https://a.example/', true],
      ['*.a.example', 'https://b.a.example/', true],
      ['a.example', 'https://ba.example/', false],
      ['a.example', 'https://a.example.net/', false],
      ['A.EXAMPLE.', 'https://a.example/', true],
      ['x.example , a.example', 'https://a.example/', true],
      ['x.example a.example', 'https://a.example/', true],
      ['a.example:8443', 'https://a.example:8443/', true],
      ['a.example:8443', 'https://a.example/', false],
      ['10.0.0.5', 'http://10.0.0.5:8188/', true],
      ['10.0.0.5:8188', 'http://10.0.0.5:8188/', true],
      ['10.0.0.5:8188', 'http://10.0.0.5:8189/', false],
      ['0.0.5', 'http://10.0.0.5/', false],
      ['10.0.0.0/8', 'http://10.9.9.9/', true],
      ['10.0.0.0/8', 'http://11.0.0.1/', false],
      ['10.0.0.0/8', 'https://a.example/', false],
      ['::1', 'http://[::1]/', true],
      ['[::1]:80', 'http://[0:0::1]/', true],
      ['fd00::/8', 'http://[fd12::1]/', true],
      ['localhost', 'http://127.0.0.1/', false],
      ['', 'https://a.example/', false],
      ['10.0.0.0/99,a b:c,[,,', 'https://a.example/', false],
    ] as const) {
      const environment = { ALL_PROXY: 'http://p:1', NO_PROXY: list };
      expect(proxyFor(environment, url) === undefined, `${list} for ${url}`).to.equal(isDirect);
    }
    expect(portFor({ ALL_PROXY: 'http://p:1', NO_PROXY: 'a.example', no_proxy: 'b.example' })).to.equal('1');
    expect(portFor({ ALL_PROXY: 'http://p:1', NO_PROXY: 'a.example', no_proxy: '' })).to.equal(undefined);
  });
});
