import { isIP } from 'node:net';
import { connect, type PeerCertificate, type TLSSocket } from 'node:tls';
import { printable } from '../../logging/printable.js';
import { isoDate } from '../terminal.js';
import type { GrpcPlace } from './grpc-place.js';

const LOOK_MS = 5_000;
const MAX_NAMES = 5;

const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * What is wrong with the certificate of a server that was not trusted, as a phrase to follow its address. The
 * certificate is fetched again by a TLS handshake alone, since the library does not expose it. Undefined if that takes
 * more than 5 seconds.
 */
export function certificateFault({ address, host, tls }: GrpcPlace, now: number): Promise<string | undefined> {
  const port = Number(address.slice(address.lastIndexOf(':') + 1));
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port,
      ALPNProtocols: ['h2'],
      rejectUnauthorized: false,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(tls?.ca === undefined ? {} : { ca: tls.ca }),
    });
    const end = (fault?: string) => {
      clearTimeout(limit);
      socket.destroy();
      resolve(fault);
    };
    const limit = setTimeout(end, LOOK_MS);
    socket
      .on('error', () => {
        end();
      })
      .on('close', () => {
        end();
      });
    socket.once('secureConnect', () => {
      end(faultOf(socket, { host, isAuthorityGiven: tls?.ca !== undefined }, now));
    });
  });
}

function faultOf(
  socket: TLSSocket,
  { host, isAuthorityGiven }: { readonly host: string; readonly isAuthorityGiven: boolean },
  now: number,
): string | undefined {
  if (socket.authorized) return undefined;
  const certificate = socket.getPeerCertificate();
  // An error code, although its type differs.
  const code = String(socket.authorizationError);
  const [from, to] = [Date.parse(certificate.valid_from), Date.parse(certificate.valid_to)];
  if (code === 'CERT_HAS_EXPIRED')
    return to <= now
      ? `its certificate expired on ${isoDate(to)}`
      : 'its certificate is of an authority whose own certificate has expired';
  if (code === 'CERT_NOT_YET_VALID' && from > now) return `its certificate is not valid before ${isoDate(from)}`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `its certificate is for ${namesIn(certificate)}, not for ${host}`;
  if (!UNKNOWN_AUTHORITY.has(code)) return `its certificate is not trusted (${printable(code)})`;
  return isAuthorityGiven
    ? 'its certificate is not from an authority in the file of --grpc-ca'
    : 'its certificate is from an authority this machine does not trust; name it with --grpc-ca';
}

/** Those it may be reached by; without any, the one it bears, which stood for them in older days. */
function namesIn({ subjectaltname = '', subject }: PeerCertificate): string {
  const names = subjectaltname.split(', ').flatMap((entry) => /^(?:DNS|IP Address):(.+)$/.exec(entry)?.[1] ?? []);
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  const shown = names.length === 0 ? String(subject.CN ?? 'nobody') : names.slice(0, MAX_NAMES).join(', ');
  return printable(shown).slice(0, 500) + more;
}
