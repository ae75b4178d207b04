import { changeQuery, place } from '../places.js';
import { type Data, useData } from '../use-data.js';

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

/**
 * The App that the address names, or else the first of a kind. An unknown App is shown as the server reports it:
 * unknown.
 */
export function pickedApp(usable: UsableApps, usual: UsableApp['kind']): string {
  return place.value.query['app'] ?? usualApp(usable, usual) ?? '';
}

/** The value of `app` in the query; undefined for the default App, which needs no name. */
export function appQuery(usable: UsableApps, appId: string, usual: UsableApp['kind']): string | undefined {
  return appId === usualApp(usable, usual) ? undefined : appId;
}

function usualApp({ apps }: UsableApps, usual: UsableApp['kind']): string | undefined {
  return apps.find(({ kind }) => kind === usual)?.id;
}

/** The path of an endpoint of the API, for an App. */
export function inApp(appId: string, path: string): string {
  return `/apps/${encodeURIComponent(appId)}${path}`;
}

export function appName({ name, kind }: UsableApp): string {
  if (kind === 'console') return 'Playground';
  return kind === 'program' ? `${name} (connected program)` : name;
}

interface AppPickerProps {
  readonly apps: UsableApps;
  readonly picked: string;
  /** The kind whose first App is the default if the address names none. */
  readonly usual: UsableApp['kind'];
}

/** Chooses the App whose items are shown. An account that has only the App of this page has nothing to choose. */
export function AppPicker({ apps, picked, usual }: AppPickerProps) {
  if (apps.apps.length < 2) return null;
  return (
    <label class="picker">
      App
      <select
        value={picked}
        onChange={({ currentTarget }) => changeQuery({ app: appQuery(apps, currentTarget.value, usual) })}
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
