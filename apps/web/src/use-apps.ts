import { type Data, useData } from './use-data.js';

/** An App in which the person can look and act. */
interface UsableApp {
  readonly id: string;
  readonly name: string;
  readonly kind: 'console' | 'keys' | 'program';
}

interface UsableApps {
  readonly apps: readonly UsableApp[];
}

export function useApps(): Data<UsableApps> {
  return useData<UsableApps>('/usable-apps');
}

export function appName({ name, kind }: UsableApp): string {
  if (kind === 'console') return 'Playground';
  return kind === 'program' ? `${name} (connected program)` : name;
}
