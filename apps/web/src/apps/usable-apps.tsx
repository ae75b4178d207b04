import { changeQuery, place } from '../router.js';
import { useData, type Data } from '../use-data.js';

/** An App in which the person can look and act. */
export interface UsableApp {
  readonly id: string;
  readonly name: string;
  readonly kind: 'console' | 'keys' | 'program';
}

export interface UsableApps {
  readonly apps: readonly UsableApp[];
}

export function useApps(): Data<UsableApps> {
  return useData<UsableApps>('/usable-apps');
}

/** The App that the address names, else that of this page. One that is not known is shown as the server has it: unknown. */
export function pickedApp({ apps }: UsableApps): string {
  return place.value.query['app'] ?? apps[0]?.id ?? '';
}

/** The query that leads to an App; nothing for that of this page, which is meant where none is named. */
export function appQuery({ apps }: UsableApps, appId: string): string | undefined {
  return appId === apps[0]?.id ? undefined : appId;
}

/** The path of an endpoint of the API, for an App. */
export function inApp(appId: string, path: string): string {
  return `/apps/${encodeURIComponent(appId)}${path}`;
}

export function appName({ name, kind }: UsableApp): string {
  if (kind === 'console') return 'Playground (this page)';
  return kind === 'program' ? `${name} (connected program)` : name;
}

/** Which App's things are shown. An account with nothing but this page's has nothing to choose. */
export function AppPicker({ apps, picked }: { readonly apps: UsableApps; readonly picked: string }) {
  if (apps.apps.length < 2) return null;
  return (
    <label class="picker">
      App
      <select
        value={picked}
        onChange={({ currentTarget }) => changeQuery({ app: appQuery(apps, currentTarget.value) })}
      >
        {apps.apps.map((app) => (
          <option key={app.id} value={app.id}>
            {appName(app)}
          </option>
        ))}
      </select>
    </label>
  );
}
