import { useEffect, useRef, useState } from 'preact/hooks';
import { ImagePlus, RotateCcw, X } from 'lucide-preact';
import type { Model, Output, Role } from '../../api-types.js';
import { numberText } from '../../format.js';
import { Button } from '../../parts/buttons.js';
import { FieldError } from '../../parts/form.js';
import { Icon } from '../../parts/icon.js';
import { uploadReference } from '../../../../../clients/typescript/src/upload.js';
import { Explained, inApp, randomKey, readable, remove, sentenceOf, transportOf } from '../../server.js';
import { ROLE_TEXTS } from '../code/request-code.js';

/** A reference file: being uploaded, or on the server. */
export interface Reference {
  readonly key: string;
  readonly name: string;
  readonly role: Role;
  readonly state: 'uploading' | 'ready' | 'failed';
  /** Absent for one of an earlier generation. */
  readonly file?: File;
  /** The address of a picture of it. */
  readonly preview?: string | undefined;
  readonly uploadId?: string;
  readonly fault?: string;
}

/** A reference file of an earlier generation. `url` shows it; it is empty where that is not known. */
export interface EarlierReference {
  readonly upload_id: string;
  readonly role: Role;
  readonly url?: string;
}

/** So often a file is sent before the person decides. */
const SEND_TRIES = 3;

/** The reference files of the form, each uploaded as soon as it is added. */
export function useReferences(appId: string) {
  const [all, setAll] = useState<readonly Reference[]>([]);
  const [fault, setFault] = useState<string>();
  const sending = useRef(new Map<string, AbortController>()).current;
  const stopAll = (): void => {
    for (const controller of sending.values()) controller.abort();
  };
  // oxlint-disable-next-line react-hooks/exhaustive-deps
  useEffect(() => stopAll, []);
  const put = (next: Reference): void =>
    setAll((before) =>
      before.some(({ key }) => key === next.key)
        ? before.map((one) => (one.key === next.key ? next : one))
        : [...before, next],
    );
  const send = async (one: { key: string; name: string; file: File; role: Role; preview: string | undefined }) => {
    put({ ...one, state: 'uploading' });
    const controller = new AbortController();
    sending.set(one.key, controller);
    const { signal } = controller;
    const options = { intent: randomKey(), signal, addressOf: readable, maxTries: SEND_TRIES };
    try {
      const uploadId = await uploadReference(transportOf(appId), { file: one.file, role: one.role }, options);
      if (!signal.aborted) put({ ...one, state: 'ready', uploadId });
    } catch (error) {
      // The library names the type of file that it does not take in a TypeError.
      const sentence = error instanceof TypeError ? error.message : sentenceOf(error);
      if (!signal.aborted) put({ ...one, state: 'failed', fault: sentence });
    }
  };
  const add = (file: File, role: Role): void =>
    void send({ key: randomKey(), name: file.name, file, role, preview: URL.createObjectURL(file) });
  const stop = ({ key, uploadId, file }: Reference): void => {
    sending.get(key)?.abort();
    // One that stays is lost by nobody: the server removes uploads that no generation uses.
    if (uploadId !== undefined && file !== undefined)
      remove(inApp(appId, `/uploads/${uploadId}`)).catch(() => undefined);
  };
  return {
    all,
    /** Why not all files were taken that were added last. */
    fault,
    /** Adds the files that a model takes. */
    take: (model: Model, files: readonly File[]): void => {
      const { max_reference_uploads: most, upload_media_types: types, max_upload_bytes: maxBytes } = model.limits;
      const taken = files.filter(({ type, size }) => types.includes(type) && size <= maxBytes);
      const left = Math.max(0, most - all.length);
      for (const file of taken.slice(0, left)) add(file, freeRole(model, all));
      const wrongType = files.find(({ type }) => !types.includes(type));
      const tooLarge = files.find(({ size }) => size > maxBytes);
      const tooMany = `${model.display_name} takes at most ${most} ${most === 1 ? 'file' : 'files'}.`;
      if (wrongType !== undefined) setFault(`${wrongType.name} is not a ${listText(types)} image.`);
      else if (tooLarge !== undefined) setFault(`${tooLarge.name} is larger than ${sizeText(maxBytes)}.`);
      else setFault(taken.length > left ? tooMany : undefined);
    },
    /** Replaces all by those of an earlier generation of the same App; copies of those of another App are added. */
    adopt: async (earlier: readonly EarlierReference[], isSameApp: boolean): Promise<void> => {
      const stored = earlier.filter(({ url }) => url !== undefined);
      if (isSameApp) {
        stopAll();
        setAll(stored.map((one, index) => referenceOf(one, index)));
      } else
        for (const { upload_id: id, url, role } of stored) {
          const file = url ? await fileOf({ url, media_id: id }).catch(() => undefined) : undefined;
          if (file !== undefined) add(file, role);
        }
    },
    /** Uploads the file again, because that has failed, or in another role, which is part of an upload. */
    again: (one: Reference, role = one.role): void => {
      const { key, name, file, preview } = one;
      stop(one);
      if (file !== undefined) void send({ key, name, file, role, preview });
    },
    remove: (one: Reference): void => {
      stop(one);
      setAll((before) => before.filter(({ key }) => key !== one.key));
    },
  };
}

export type References = ReturnType<typeof useReferences>;

function referenceOf({ upload_id: uploadId, role, url }: EarlierReference, index: number): Reference {
  const preview = url ? readable(url) : undefined;
  return { key: randomKey(), name: `Reference ${index + 1}`, role, state: 'ready', uploadId, preview };
}

/** An output as a file, so that it can become a reference. Throws `Explained` where its store does not let pages read it. */
export async function fileOf({ url, media_id: id }: Pick<Output, 'url' | 'media_id'>): Promise<File> {
  try {
    const response = await fetch(readable(url));
    if (!response.ok) throw new Error(String(response.status));
    const bytes = await response.blob();
    return new File([bytes], `${id}.${bytes.type.replace(/^image\//, '')}`, { type: bytes.type });
  } catch {
    throw new Explained('The image can’t be read from where files are stored. Download it and add it as a file.');
  }
}

/** One that no other file has, where each frame can be there once. */
function freeRole({ limits: { reference_roles: roles } }: Model, all: readonly Reference[]): Role {
  const free = roles.find((role) => role === 'reference_image' || !all.some((one) => one.role === role));
  return free ?? roles[0] ?? 'reference_image';
}

interface ReferenceListProps {
  model: Model;
  references: References;
  /** The error of the field at a JSON Pointer. */
  faultAt: (pointer: string) => string | undefined;
}

/** Reference files, which can be dropped, pasted or chosen, with the role of each. */
export function ReferenceList({ model, references, faultAt }: ReferenceListProps) {
  const { max_reference_uploads: most, upload_media_types: types, reference_roles: roles } = model.limits;
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const { all, fault = faultAt('/reference_upload_ids') } = references;
  if (most === 0 || roles.length === 0) return null;
  return (
    // Dropping is another way to what the button does, which the keyboard reaches.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <fieldset
      class="field"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        references.take(model, [...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <legend class="label">
        {roles.every((role) => role === 'reference_image') ? 'Reference images' : 'Reference frames and images'}
        <span class="note">{`optional, up to ${most}`}</span>
      </legend>
      {all.length === 0 ? null : (
        <ul class="upload-list">
          {all.map((one, index) => (
            <li key={one.key}>
              <ReferenceRow of={one} roles={roles} references={references} />
              <FieldError text={one.fault ?? faultAt(`/reference_upload_ids/${index}`)} />
            </li>
          ))}
        </ul>
      )}
      {all.length >= most ? null : (
        <div class={isOver ? 'drop over' : 'drop'}>
          <Icon of={ImagePlus} />
          <p>
            Drop, paste or{' '}
            <button type="button" class="text-button" onClick={() => input.current?.click()}>
              choose files
            </button>
            <span>{`${listText(types)}, up to ${sizeText(model.limits.max_upload_bytes)} each`}</span>
          </p>
        </div>
      )}
      <FieldError text={fault} />
      <input
        ref={input}
        type="file"
        multiple={most > 1}
        accept={types.join(',')}
        aria-label="Reference files"
        hidden
        onChange={({ currentTarget }) => {
          references.take(model, [...(currentTarget.files ?? [])]);
          // The same file can be chosen again.
          currentTarget.value = '';
        }}
      />
    </fieldset>
  );
}

const STATE_TEXTS = { uploading: 'Uploading…', ready: 'Ready', failed: 'Not uploaded' };

function ReferenceRow({ of, roles, references }: { of: Reference; roles: readonly Role[]; references: References }) {
  const { name, role, state, preview, file } = of;
  return (
    <>
      {preview === undefined ? (
        <span class="thumb" />
      ) : (
        <img class="thumb" src={preview} alt="" onLoad={() => URL.revokeObjectURL(preview)} />
      )}
      <div class="grow">
        <p class="cut" title={name}>
          {name}
        </p>
        <p class="tiny muted row" aria-busy={state === 'uploading' || undefined}>
          {state === 'uploading' ? <span class="spinner" /> : null}
          {STATE_TEXTS[state]}
          {roles.length > 1 ? null : <span class="faint">{ROLE_TEXTS[role]}</span>}
        </p>
      </div>
      {roles.length > 1 && file !== undefined ? (
        <select
          class="input"
          aria-label={`Role of ${name}`}
          value={role}
          onChange={({ currentTarget }) => references.again(of, currentTarget.value as Role)}
        >
          {roles.map((one) => (
            <option key={one} value={one}>
              {ROLE_TEXTS[one]}
            </option>
          ))}
        </select>
      ) : null}
      {state === 'failed' ? (
        <Button
          isSmall
          kind="quiet"
          icon={RotateCcw}
          label={`Upload ${name} again`}
          onClick={() => references.again(of)}
        />
      ) : null}
      <Button isSmall kind="quiet" icon={X} label={`Remove ${name}`} onClick={() => references.remove(of)} />
    </>
  );
}

/** `PNG, JPEG or WebP` */
function listText(types: readonly string[]): string {
  const names = types.map((type) => (type === 'image/webp' ? 'WebP' : type.replace(/^\w+\//, '').toUpperCase()));
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1) ?? ''}`;
}

function sizeText(bytes: number): string {
  return bytes >= 1024 * 1024 ? `${numberText(Math.floor(bytes / 1024 / 1024))} MiB` : `${numberText(bytes)} bytes`;
}
