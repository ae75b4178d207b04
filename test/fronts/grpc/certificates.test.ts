// Goal: certificates that cannot be used are refused in one sentence that names the configuration key; renewed ones are
// used without a restart, and a faulty renewal locks no caller out.
// Method: files with one fault each; then the library's server over files that are replaced while it listens. Node's
// TLS shows which certificate the server presents and whose it accepts, and is polled until that changes.
import { Server } from '@grpc/grpc-js';
import { expect } from 'chai';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { pino } from 'pino';
import { ConfigInvalid } from '../../../apps/config/config.js';
import { readCertificates, WatchedCertificates } from '../../../apps/grpc/certificates.js';
import { Authority, type Pair } from '../../fixtures/authority.js';
import { orSkip } from '../../servers/servers.js';

describe('certificates of the gRPC front', () => {
  let folder = '';
  let authority: Authority;
  let pair: Pair;
  const at = (name: string): string => join(folder, name);
  const issue = (): Pair => authority.issue({ names: ['DNS:localhost'], usage: 'serverAuth' });

  before(async function () {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-certificates-'));
    authority = await orSkip(this, Authority.make(folder, 'ours'));
    pair = issue();
  });
  after(() => rmSync(folder, { recursive: true }));

  describe('as files', () => {
    const GARBAGE = 'no certificate and no key';
    const whole = (): string => authority.cert.toString();

    it('are accepted as a pair, with a chain, and with one authority or more', () => {
      const { certFile, keyFile } = pair;
      writeFileSync(at('chain'), `${pair.cert.toString()}${whole()}`);
      writeFileSync(at('authorities'), `The one:\n${whole()}and the other:\n${issue().cert.toString()}`);
      expect(readCertificates({ certFile: at('chain'), keyFile, clientCaFile: at('authorities') })).to.have.all.keys(
        'minVersion',
        'secureOptions',
        'cert',
        'key',
        'ca',
      );
      expect(readCertificates({ certFile, keyFile }), 'asks nobody for a certificate').to.not.have.property('ca');
      writeFileSync(at('both'), `${pair.key.toString()}${pair.cert.toString()}`);
      expect(readCertificates({ certFile: at('both'), keyFile: at('both') }), 'both in one file').to.have.property(
        'key',
      );
    });

    const locked = '-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAo=\n-----END ENCRYPTED PRIVATE KEY-----\n';
    const WRONG: Readonly<
      Record<
        string,
        readonly [file: 'certFile' | 'keyFile' | 'clientCaFile', text: () => string | undefined, key: string]
      >
    > = {
      'certificate that is not there': ['certFile', () => undefined, 'grpc.tls_cert_file'],
      'certificate of no text': ['certFile', () => '', 'grpc.tls_cert_file'],
      'certificate that is none': ['certFile', () => GARBAGE, 'grpc.tls_cert_file'],
      'certificate that is a key': ['certFile', () => pair.key.toString(), 'grpc.tls_cert_file'],
      'certificate whose chain is cut': [
        'certFile',
        () => `${pair.cert.toString()}${whole().slice(0, 200)}`,
        'grpc.tls_cert_file',
      ],
      'key that is not there': ['keyFile', () => undefined, 'grpc.tls_key_file'],
      'key of no text': ['keyFile', () => '', 'grpc.tls_key_file'],
      'key that is a certificate': ['keyFile', whole, 'grpc.tls_key_file'],
      'key that wants a password': ['keyFile', () => locked, 'grpc.tls_key_file'],
      'key of another certificate': ['keyFile', () => issue().key.toString(), 'grpc.tls_key_file'],
      'authority that is not there': ['clientCaFile', () => undefined, 'grpc.tls_client_ca_file'],
      'authority of no text': ['clientCaFile', () => '', 'grpc.tls_client_ca_file'],
      'authority that is none': ['clientCaFile', () => GARBAGE, 'grpc.tls_client_ca_file'],
      'list of authorities that is cut': [
        'clientCaFile',
        () => `${whole()}${whole().slice(0, 200)}`,
        'grpc.tls_client_ca_file',
      ],
    };
    for (const [what, [file, text, key]] of Object.entries(WRONG)) {
      it(`are refused: ${what}`, () => {
        rmSync(at('wrong'), { force: true });
        const content = text();
        if (content !== undefined) writeFileSync(at('wrong'), content);
        const read = (): unknown =>
          readCertificates({
            certFile: pair.certFile,
            keyFile: pair.keyFile,
            clientCaFile: authority.certFile,
            [file]: at('wrong'),
          });
        expect(read)
          .to.throw(ConfigInvalid)
          .with.property('message')
          .which.matches(new RegExp(`^${key.replaceAll('.', '\\.')} ${at('wrong')} [^\\n]+\\.$`));
      });
    }
  });

  describe('that are replaced while it listens', () => {
    const files = () => ({ certFile: at('server.pem'), keyFile: at('server.key'), clientCaFile: at('callers.pem') });
    let certificates: WatchedCertificates;
    let server: Server;
    let port: number;
    let lines: string[];

    beforeEach(async () => {
      copyFileSync(pair.certFile, at('server.pem'));
      copyFileSync(pair.keyFile, at('server.key'));
      copyFileSync(authority.certFile, at('callers.pem'));
      lines = [];
      certificates = new WatchedCertificates(
        files(),
        pino(
          { messageKey: 'msg' },
          {
            write: (line: string) => {
              lines.push((JSON.parse(line) as { msg: string }).msg);
            },
          },
        ),
        5,
      );
      server = new Server();
      port = await new Promise((resolve, reject) => {
        server.bindAsync('127.0.0.1:0', certificates, (error, bound) => {
          if (error) reject(error);
          else resolve(bound);
        });
      });
    });
    afterEach(() => {
      server.forceShutdown();
      certificates.close();
    });

    const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
      while (!(await holds())) await sleep(5);
    };
    const to = (own: Pair, more: ConnectionOptions = {}) =>
      connect({
        port,
        host: '127.0.0.1',
        servername: 'localhost',
        ca: authority.cert,
        cert: own.cert,
        key: own.key,
        ALPNProtocols: ['h2'],
        ...more,
      });

    /** Whether the server answers a caller with this certificate, or closes the connection. */
    const isHeard = async (socket: TLSSocket): Promise<boolean> => {
      const heard = await Promise.race([
        once(socket, 'data').then(() => true),
        once(socket, 'close').then(() => false),
      ]).catch(() => false);
      socket.destroy();
      return heard;
    };

    /** The serial number that the server shows to a caller with this certificate. */
    async function shownTo(own: Pair): Promise<string | undefined> {
      const socket = to(own);
      await once(socket, 'secureConnect');
      const shown = socket.getPeerX509Certificate()?.serialNumber;
      return (await isHeard(socket)) ? shown : undefined;
    }

    it('are used from then on, while older connections continue', async () => {
      const own = authority.issue({});
      const before = to(own);
      await once(before, 'data');
      const first = await shownTo(own);
      const renewed = issue();
      writeFileSync(at('server.pem'), renewed.cert);
      await until(() => lines.length > 0);
      expect([lines, await shownTo(own)], 'half of a pair is of no use').to.deep.equal([
        ['certificates not read'],
        first,
      ]);
      writeFileSync(at('server.key'), renewed.key);
      await until(() => lines.length > 1);
      expect(lines[1]).to.equal('certificates read');
      expect(await shownTo(own))
        .to.be.a('string')
        .and.not.equal(first);
      expect(before.destroyed).to.equal(false);
      before.destroy();
    });

    it('stay in use when their files are removed', async () => {
      const own = authority.issue({});
      const first = await shownTo(own);
      for (const path of Object.values(files())) rmSync(path);
      await until(() => lines.length > 0);
      expect(await shownTo(own))
        .to.be.a('string')
        .and.equal(first);
    });

    it('refuse every caller of another authority, also one that was connected before', async () => {
      const next = await Authority.make(folder, 'next');
      const [old, young] = [authority.issue({}), next.issue({})];
      expect([await isHeard(to(old)), await isHeard(to(young))]).to.deep.equal([true, false]);
      const first = to(old);
      await once(first, 'secureConnect');
      const session = first.getSession();
      first.destroy();
      const again = to(old, { session });
      await once(again, 'secureConnect');
      expect(
        [again.isSessionReused(), await isHeard(again)],
        'nobody is let in for what was shown before',
      ).to.deep.equal([false, true]);
      copyFileSync(next.certFile, at('callers.pem'));
      await until(() => isHeard(to(young)));
      expect([await isHeard(to(old)), await isHeard(to(old, { session }))]).to.deep.equal([false, false]);
    });
  });
});
