#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The manifest for Kubernetes, as far as it goes without a cluster: its parts refer to each other, and
# processes with the environment of its pods form a group.  Each pod is a network namespace, in which the
# name of the headless service leads to rank 0.
# any-kernel: what is tested is above the system calls.
set -uo pipefail
manifest=$PWD/packaging/kubernetes/collective.yaml
cdi=$PWD/packaging/cdi/collective.json
n=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

result()
{
	((++n))
	if (($1)); then failed=1; echo -n "not "; fi
	echo "ok $n $2"
}

# Writes the environment of pod I to env.I, and the name that rank 0 has in the cluster to name.
cat >"$work/pods.py" <<'END'
import json, sys, yaml

manifest, cdi, secret, work = sys.argv[1:]
found = {}
for part in yaml.safe_load_all(open(manifest)):
    found.setdefault(part["kind"], []).append(part)
[daemon], [service], [job], [policy] = (found[kind] for kind in
                                        ("DaemonSet", "Service", "Job", "NetworkPolicy"))

def same(what, *values):
    assert all(value == values[0] for value in values), (what, values)

plugin = daemon["spec"]["template"]["spec"]["containers"][0]["args"]
options = dict(zip(plugin[::2], plugin[1::2]))
offered = json.loads(options["--device"])
paths = [path["path"] for group in offered["groups"] for path in group["paths"]]
devices = json.load(open(cdi))["devices"]
nodes = [node["path"] for device in devices for node in device["containerEdits"]["deviceNodes"]]
same("device", paths, nodes, ["/dev/collective"])

spec, pod = job["spec"], job["spec"]["template"]["spec"]
[container] = pod["containers"]
assert options["--domain"] + "/" + offered["name"] in container["resources"]["limits"]
[size] = (int(variable["value"]) for variable in container["env"] if variable["name"] == "COLL_SIZE")
same("size", size, spec["completions"], spec["parallelism"])
same("service", service["metadata"]["name"], pod["subdomain"])
same("pods of the service", service["spec"]["selector"], {"job-name": job["metadata"]["name"]})
labels = spec["template"]["metadata"]["labels"]
same("pods of the policy", labels, policy["spec"]["podSelector"]["matchLabels"],
     policy["spec"]["ingress"][0]["from"][0]["podSelector"]["matchLabels"])

for index in range(spec["completions"]):
    with open(f"{work}/env.{index}", "w") as out:
        for variable in container["env"]:
            value = variable.get("value")
            if value is None and "fieldRef" in variable["valueFrom"]:
                assert "job-completion-index" in variable["valueFrom"]["fieldRef"]["fieldPath"]
                value = index
            elif value is None:
                same("secret", variable["valueFrom"]["secretKeyRef"], {"name": "collective", "key": "secret"})
                value = secret
            out.write(f"{variable['name']}={value}\n")
# A pod of an indexed job has the job's name and its index.
open(f"{work}/name", "w").write(f"{job['metadata']['name']}-0.{service['metadata']['name']}")
open(f"{work}/command", "w").write(" ".join(container["command"]))
END

# The command of the manifest's comment makes the secret.
make_secret()
{
	local command
	command=$(sed -n 's/^#.*--from-literal=secret="\$(\(.*\))"$/\1/p' "$manifest")
	[[ -n $command ]] && sh -c "$command"
}

run_pods()
{
	printf '127.0.0.1 localhost\n10.88.0.1 %s\n' "$(<"$work/name")" >"$work/hosts"
	timeout 120 collective-run --netns -n "$(find "$work" -name 'env.*' | wc -l)" -- unshare -m bash -c '
		mount --bind "$0/hosts" /etc/hosts && mapfile -t variables <"$0/env.$RANK" &&
			exec env -i PATH="$PATH" "${variables[@]}" $(<"$0/command") --sizes 64K --iters 3 --csv' "$work"
}

echo "TAP version 13"
if ! python3 -c 'import yaml' 2>/dev/null || ! collective-run --netns -n 1 true >/dev/null 2>&1; then
	echo "1..0 # SKIP no python3-yaml, or no bridge or veth in this kernel"
	exit 4
fi
echo "1..3"
secret=$(make_secret)
result $? "the secret"
python3 "$work/pods.py" "$manifest" "$cdi" "$secret" "$work" 2>&1 | sed 's/^/# /'
result "${PIPESTATUS[0]}" "the parts of the manifest fit each other"
run_pods 2>&1 | sed 's/^/# /'
result "${PIPESTATUS[0]}" "pods form a group"
exit $failed
