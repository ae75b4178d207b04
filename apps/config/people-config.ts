import type { Config } from './config.js';
import type { ProgramValues } from './config-keys.js';

/** How people sign in and connect programs, from the values of the keys. A missing part of a provider is empty. */
export function peopleOf(values: ProgramValues): Pick<Config, 'signIn' | 'oauth'> {
  const provider = {
    issuer: values['sign_in.provider_issuer'] ?? '',
    clientId: values['sign_in.provider_client_id'] ?? '',
    clientSecret: values['sign_in.provider_client_secret'] ?? '',
  };
  const isWanted = Object.values(provider).some((part) => part !== '');
  return {
    signIn: {
      enabled: values['sign_in.enabled'],
      ...(isWanted ? { provider: { ...provider, name: values['sign_in.provider_name'] } } : {}),
    },
    oauth: {
      enabled: values['oauth.enabled'],
      registration: values['oauth.registration'],
      clientDocuments: values['oauth.client_documents'],
    },
  };
}

/** What cannot be together. The issuer of tokens, and the paths of pages and cookies, begin at the root of a host. */
export function peopleFaults({ signIn, oauth, rest }: Pick<Config, 'signIn' | 'oauth' | 'rest'>): string[] {
  const path = new URL(rest.publicUrl ?? 'http://host').pathname;
  return [
    ...(oauth.enabled && !signIn.enabled
      ? ['oauth.enabled needs sign_in.enabled: people must sign in to allow it.']
      : []),
    ...providerFaults(signIn),
    ...(signIn.enabled && path !== '/'
      ? [
          'rest.public_url must have no path while people sign in; set sign_in.enabled and oauth.enabled to false to keep it.',
        ]
      : []),
  ];
}

function providerFaults({ provider }: Config['signIn']): string[] {
  if (provider === undefined) return [];
  const parts = {
    provider_issuer: provider.issuer,
    provider_client_id: provider.clientId,
    provider_client_secret: provider.clientSecret,
  };
  return Object.entries(parts).flatMap(([part, value]) =>
    value === '' ? [`sign_in.${part} is missing; an outside provider needs its issuer, a client id and a secret.`] : [],
  );
}
