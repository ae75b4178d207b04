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
      operatorArea: values['sign_in.operator_area'],
      ...(isWanted ? { provider: { ...provider, name: values['sign_in.provider_name'] } } : {}),
    },
    oauth: {
      enabled: values['oauth.enabled'],
      registration: values['oauth.registration'],
      clientDocuments: values['oauth.client_documents'],
    },
  };
}

type People = Pick<Config, 'role' | 'signIn' | 'oauth' | 'rest' | 'log'>;

/** What cannot be together. The issuer of tokens, and the paths of pages and cookies, begin at the root of a host. */
export function peopleFaults({ role, signIn, oauth, rest, log }: People): string[] {
  const path = new URL(rest.publicUrl ?? 'http://host').pathname;
  return [
    ...(oauth.enabled && !signIn.enabled
      ? ['oauth.enabled needs sign_in.enabled: people must sign in to allow it.']
      : []),
    ...operatorFaults({ role, signIn, log }),
    ...providerFaults(signIn),
    ...(signIn.enabled && path !== '/'
      ? [
          'rest.public_url must have no path while people sign in; set sign_in.enabled and oauth.enabled to false to keep it.',
        ]
      : []),
  ];
}

/** What operators do is recorded in the log alone, so that it must be written there. */
function operatorFaults({ role, signIn, log }: Pick<People, 'role' | 'signIn' | 'log'>): string[] {
  if (!signIn.operatorArea || role === 'worker') return [];
  return [
    ...(signIn.enabled ? [] : ['sign_in.operator_area needs sign_in.enabled: operators must sign in.']),
    ...(['trace', 'debug', 'info'].includes(log.level)
      ? []
      : [`sign_in.operator_area needs log.level info: at ${log.level} the log has no lines about what operators do.`]),
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
