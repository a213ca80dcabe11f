# Stands in for nixpkgs where there is no network: the few attributes that flake.nix may use, under their real names.
{
  lib.genAttrs =
    names: value:
    builtins.listToAttrs (
      map (name: {
        inherit name;
        value = value name;
      }) names
    );

  legacyPackages =
    let
      packages =
        system:
        let
          package =
            name:
            derivation {
              inherit name system;
              builder = "/bin/sh";
            };
        in
        {
          nodejs_22 = package "nodejs-22";
          git = package "git";
          python3 = package "python3";
          gnumake = package "gnumake";
          stdenv.cc = package "cc";
          # Keeps what it is given, since a derivation would only have it as text.
          mkShell =
            arguments:
            derivation (
              arguments
              // {
                name = "nix-shell";
                inherit system;
                builder = "/bin/sh";
              }
            )
            // {
              inherit arguments;
            };
        };
    in
    {
      x86_64-linux = packages "x86_64-linux";
      aarch64-linux = packages "aarch64-linux";
      x86_64-darwin = packages "x86_64-darwin";
      aarch64-darwin = packages "aarch64-darwin";
    };
}
