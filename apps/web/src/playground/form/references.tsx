import { useEffect, useRef, useState } from 'preact/hooks';
import { ImagePlus, RotateCcw, X } from 'lucide-preact';
import type { Model, Output, Role } from '../../api-types.js';
import { numberText } from '../../format.js';
import { Button } from '../../parts/buttons.js';
import { FieldError } from '../../parts/form.js';
import { Icon } from '../../parts/icon.js';
import { uploadReference } from '../../../../../clients/typescript/src/upload.js';
import { ROLE_TEXTS } from '../code/request-code.js';
import { change, Explained, inApp, randomKey, readable, sentenceOf, transportOf } from '../../server.js';

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

/** A reference file of an earlier generation. `url` shows it. */
export interface EarlierReference {
  readonly upload_id: string;
  readonly role: Role;
  readonly url?: string;
}

export interface References {
  readonly all: readonly Reference[];
  readonly add: (files: readonly File[], role: Role) => void;
  /** Replaces all by those of an earlier generation of the same App. */
  readonly replace: (earlier: readonly EarlierReference[]) => void;
  readonly retry: (key: string) => void;
  /** Uploads the file again: the role is part of an upload. */
  readonly changeRole: (key: string, role: Role) => void;
  readonly remove: (key: string) => void;
}

/** The reference files of the form, each uploaded as soon as it is added. */
export function useReferences(appId: string): References {
  const [all, setAll] = useState<readonly Reference[]>([]);
  const sending = useRef(new Map<string, AbortController>());
  const previews = useRef<string[]>([]);
  useEffect(
    () => () => {
      for (const controller of sending.current.values()) controller.abort();
      for (const url of previews.current) URL.revokeObjectURL(url);
    },
    [],
  );
  const update = (key: string, changes: Partial<Reference>): void =>
    setAll((before) => before.map((one) => (one.key === key ? { ...one, ...changes } : one)));

  const send = async ({ key, file, role }: Reference): Promise<void> => {
    if (file === undefined) return;
    sending.current.get(key)?.abort();
    const controller = new AbortController();
    sending.current.set(key, controller);
    const { signal } = controller;
    try {
      const options = { intent: randomKey(), signal, addressOf: readable, maxTries: SEND_TRIES };
      const uploadId = await uploadReference(transportOf(appId), { file, role }, options);
      if (!signal.aborted) update(key, { state: 'ready', uploadId });
    } catch (error) {
      // The library names the type of file that it does not take in a TypeError.
      const fault = error instanceof TypeError ? error.message : sentenceOf(error);
      if (!signal.aborted) update(key, { state: 'failed', fault });
    }
  };
  /** One that stays on the server is lost by nobody: the server removes uploads that no generation uses. */
  const discard = ({ uploadId, file }: Reference): void => {
    if (uploadId === undefined || file === undefined) return;
    change(inApp(appId, `/uploads/${uploadId}`), {}, { method: 'DELETE' }).catch(() => undefined);
  };
  const again = (key: string, changes: Partial<Reference> = {}): void => {
    const found = all.find((one) => one.key === key);
    if (found?.file === undefined) return;
    const { fault: _fault, uploadId: _uploadId, ...rest } = found;
    discard(found);
    const next: Reference = { ...rest, ...changes, state: 'uploading' };
    setAll((before) => before.map((one) => (one.key === key ? next : one)));
    void send(next);
  };
  const remove = (key: string): void => {
    sending.current.get(key)?.abort();
    const found = all.find((one) => one.key === key);
    if (found !== undefined) discard(found);
    setAll((before) => before.filter((one) => one.key !== key));
  };

  return {
    all,
    add: (files, role) => {
      const added = files.map((file): Reference => {
        const preview = URL.createObjectURL(file);
        previews.current.push(preview);
        return { key: randomKey(), name: file.name, role, state: 'uploading', file, preview };
      });
      setAll((before) => [...before, ...added]);
      for (const one of added) void send(one);
    },
    replace: (earlier) => {
      for (const controller of sending.current.values()) controller.abort();
      setAll(earlier.map(referenceOf));
    },
    retry: (key) => again(key),
    changeRole: (key, role) => again(key, { role }),
    remove,
  };
}

/** So often a file is sent before the person decides. */
const SEND_TRIES = 3;

function referenceOf({ upload_id: uploadId, role, url }: EarlierReference, index: number): Reference {
  const preview = url === undefined || url === '' ? undefined : readable(url);
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

/** Adds files to the references of a model: those that it takes. Returns why it does not take the others. */
export function addFiles(model: Model, references: References, files: readonly File[]): string | undefined {
  const { max_reference_uploads: most, upload_media_types: types, max_upload_bytes: maxBytes } = model.limits;
  const left = Math.max(0, most - references.all.length);
  const wrongType = files.find(({ type }) => !types.includes(type));
  const tooLarge = files.find(({ size }) => size > maxBytes);
  const taken = files.filter(({ type, size }) => types.includes(type) && size <= maxBytes);
  if (taken.length > 0 && left > 0) references.add(taken.slice(0, left), freeRole(model, references.all));
  if (wrongType !== undefined) return `${wrongType.name} is not a ${listText(types)} image.`;
  if (tooLarge !== undefined) return `${tooLarge.name} is larger than ${sizeText(maxBytes)}.`;
  return taken.length > left
    ? `${model.display_name} takes at most ${most} ${most === 1 ? 'file' : 'files'}.`
    : undefined;
}

/** One that no other file has, where each frame can be there once. */
function freeRole({ limits: { reference_roles: roles } }: Model, all: readonly Reference[]): Role {
  const free = roles.find((role) => role === 'reference_image' || !all.some((one) => one.role === role));
  return free ?? roles[0] ?? 'reference_image';
}

interface ReferenceListProps {
  readonly model: Model;
  readonly references: References;
  /** Adds files, and keeps why some are not taken. */
  readonly add: (files: readonly File[]) => void;
  /** The error of the reference at this position. */
  readonly faultAt: (index: number) => string | undefined;
  /** An error that concerns all references. */
  readonly fault: string | undefined;
}

/** Reference files, which can be dropped, pasted or chosen, with the role of each. */
export function ReferenceList({ model, references, add, faultAt, fault }: ReferenceListProps) {
  const {
    max_reference_uploads: most,
    upload_media_types: types,
    reference_roles: roles,
    max_upload_bytes,
  } = model.limits;
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
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
        add([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <legend class="label">
        {roles.every((role) => role === 'reference_image') ? 'Reference images' : 'Reference frames and images'}
        <span class="note">{`optional, up to ${most}`}</span>
      </legend>
      {references.all.length === 0 ? null : (
        <ul class="upload-list">
          {references.all.map((reference, index) => (
            <ReferenceRow
              key={reference.key}
              reference={reference}
              roles={roles}
              references={references}
              fault={reference.fault ?? faultAt(index)}
            />
          ))}
        </ul>
      )}
      {references.all.length >= most ? null : (
        <div class={isOver ? 'drop over' : 'drop'}>
          <Icon of={ImagePlus} />
          <p>
            Drop, paste or{' '}
            <button type="button" class="text-button" onClick={() => input.current?.click()}>
              choose files
            </button>
            <span>{`${listText(types)}, up to ${sizeText(max_upload_bytes)} each`}</span>
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
          add([...(currentTarget.files ?? [])]);
          // The same file can be chosen again.
          currentTarget.value = '';
        }}
      />
    </fieldset>
  );
}

interface ReferenceRowProps {
  readonly reference: Reference;
  readonly roles: readonly Role[];
  readonly references: References;
  readonly fault: string | undefined;
}

const STATE_TEXTS: Readonly<Record<Reference['state'], string>> = {
  uploading: 'Uploading…',
  ready: 'Ready',
  failed: 'Not uploaded',
};

function ReferenceRow({ reference, roles, references, fault }: ReferenceRowProps) {
  const { key, name, role, state, preview, file } = reference;
  return (
    <li>
      {preview === undefined ? <span class="thumb" /> : <img class="thumb" src={preview} alt="" />}
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
          onChange={({ currentTarget }) => references.changeRole(key, currentTarget.value as Role)}
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
          onClick={() => references.retry(key)}
        />
      ) : null}
      <Button isSmall kind="quiet" icon={X} label={`Remove ${name}`} onClick={() => references.remove(key)} />
      <FieldError text={fault} />
    </li>
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
