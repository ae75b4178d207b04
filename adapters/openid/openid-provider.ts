import type * as Library from 'openid-client';
import type { Configuration } from 'openid-client';
import { ServiceError } from '../../core/errors.js';
import type { Log } from '../../core/log.js';
import type { OutsideProvider, ProvenIdentity, ProviderChecks } from '../../core/ports/outside.js';
import { fetchBy } from '../http/fetch.js';
import { HttpClient } from '../http/http-client.js';
import { HttpError } from '../http/http-error.js';

const SECOND = 1_000;
const LIMITS = {
  maxBodyBytes: 256 * 1024,
  connectTimeoutMs: 3_000,
  headersTimeoutMs: 5_000,
  totalTimeoutMs: 8_000,
} as const;

export interface OpenIdOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly name: string;
  /** The address to which the provider sends browsers back. */
  readonly redirectUri: () => string;
  readonly log: Log;
}

/** An OpenID provider found by its issuer's discovery document, with the code flow, PKCE, state and nonce. */
export class OpenIdProvider implements OutsideProvider {
  readonly name: string;
  private readonly client: HttpClient;
  private found: Promise<{ readonly library: typeof Library; readonly configuration: Configuration }> | undefined;

  constructor(private readonly options: OpenIdOptions) {
    this.name = options.name;
    // The operator chose the issuer, which may be in their own network.
    this.client = new HttpClient({ allow: [new URL(options.issuer).host] });
  }

  async begin({
    isAgain,
  }: {
    readonly isAgain: boolean;
  }): Promise<{ readonly location: string; readonly checks: ProviderChecks }> {
    const { library, configuration } = await this.find();
    const checks: ProviderChecks = {
      state: library.randomState(),
      nonce: library.randomNonce(),
      codeVerifier: library.randomPKCECodeVerifier(),
    };
    const location = library.buildAuthorizationUrl(configuration, {
      redirect_uri: this.options.redirectUri(),
      scope: 'openid',
      code_challenge: await library.calculatePKCECodeChallenge(checks.codeVerifier),
      code_challenge_method: 'S256',
      state: checks.state,
      nonce: checks.nonce,
      // The answer to a request with it has the time of the authentication (OpenID Connect Core, 3.1.2.1).
      ...(isAgain ? { max_age: '0' } : {}),
    });
    return { location: location.href, checks };
  }

  async finish(currentUrl: string, { state, nonce, codeVerifier }: ProviderChecks): Promise<ProvenIdentity | null> {
    const { library, configuration } = await this.find();
    try {
      const tokens = await library.authorizationCodeGrant(configuration, new URL(currentUrl), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: codeVerifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) return null;
      const { iss: issuer, sub: subject, auth_time: authenticatedAt } = claims;
      return {
        issuer,
        subject,
        ...(authenticatedAt === undefined ? {} : { authenticatedAt: authenticatedAt * SECOND }),
      };
    } catch (error) {
      if (error instanceof library.AuthorizationResponseError) return null;
      this.options.log.warn('sign-in at the outside provider failed', { error });
      // An answer that does not fit was not meant for this browser; anything else is the provider's failure.
      if (error instanceof library.ClientError && !(error.cause instanceof HttpError)) return null;
      throw unavailable(this.name);
    }
  }

  close(): Promise<void> {
    return this.client.close();
  }

  /** Found at the first use, and again after a failure: a provider that is down must not keep the service from starting. */
  private find(): NonNullable<typeof this.found> {
    this.found ??= this.discover().catch((error: unknown) => {
      this.found = undefined;
      this.options.log.warn('outside provider not found', { error });
      throw unavailable(this.name);
    });
    return this.found;
  }

  private async discover(): Promise<{ readonly library: typeof Library; readonly configuration: Configuration }> {
    const library = await import('openid-client');
    const { issuer, clientId, clientSecret } = this.options;
    const fetch = fetchBy(this.client, LIMITS);
    const configuration = await library.discovery(new URL(issuer), clientId, clientSecret, undefined, {
      [library.customFetch]: (url, options) => fetch(url, options),
      // Without TLS the guarded client reaches listed hosts only.
      execute: issuer.startsWith('http:') ? [library.allowInsecureRequests] : [],
    });
    return { library, configuration };
  }
}

function unavailable(name: string): ServiceError {
  return new ServiceError('SERVICE_UNAVAILABLE', `${name} cannot be reached right now; sign in another way.`);
}
